import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { byteVectors } from "../test/ByteVectors.ts"
import { canonicalJson } from "./CanonicalJson.ts"
import { eventHash, sealEventText, verifyEventHash } from "./EventHash.ts"
import type { JsonObject } from "./Json.ts"

describe("event hash", () => {
  it.each(byteVectors.event_hash)("$type", ({ hash, ...event }) => {
    assert.strictEqual(eventHash(event as JsonObject), hash)
    const sealed = sealEventText(event as JsonObject)
    assert.strictEqual(sealed.hash, hash)
    const read = JSON.parse(sealed.text) as JsonObject
    assert.deepStrictEqual(read, { ...event, hash } as JsonObject)
    assert.isTrue(verifyEventHash(read))
  })

  it("chains in the vectors", () => {
    const [first, second] = byteVectors.event_hash
    assert.isUndefined(first!.previous_hash)
    assert.strictEqual(second!.previous_hash, first!.hash)
  })

  it("is canonical text, hash in its sorted place", () => {
    const { text, hash } = sealEventText({ type: "x", id: "y", data: {} })
    assert.strictEqual(text, `{"data":{},"hash":"${hash}","id":"y","type":"x"}`)
  })

  it("is the canonical text of the event with its hash, whatever its members are called", () => {
    const names = fc.constantFrom(
      "a",
      "hasg",
      "hash ",
      "hasha",
      "hat",
      "z",
      "\u00e9",
      "\u{1f600}",
      "__proto__",
      ""
    )
    fc.assert(
      fc.property(fc.dictionary(names, fc.jsonValue({ maxDepth: 2 })), (members) => {
        const event = members as JsonObject
        const { hash, text } = sealEventText(event)
        assert.strictEqual(hash, eventHash(event))
        assert.strictEqual(text, canonicalJson({ ...event, hash }))
      })
    )
  })

  it("refuses to hash an event twice", () => {
    assert.throws(() => eventHash(byteVectors.event_hash[0]!), TypeError)
    assert.throws(() => sealEventText(byteVectors.event_hash[0]!), TypeError)
  })
})

describe("verifyEventHash", () => {
  const event = byteVectors.event_hash[1]! as JsonObject

  it("sees any member changed, added or removed", () => {
    for (const name of Object.keys(event)) {
      const { [name]: _, ...without } = event
      assert.isFalse(verifyEventHash(without), name)
      assert.isFalse(verifyEventHash({ ...event, [name]: "other" }), name)
    }
    assert.isFalse(verifyEventHash({ ...event, extra: 1 }))
  })

  it("is false, not an exception, for a hash or strings that cannot be ours", () => {
    for (const hash of [null, 1, [], ""]) assert.isFalse(verifyEventHash({ ...event, hash }))
    assert.isFalse(verifyEventHash({ ...event, extra: "\ud800" }))
    assert.isFalse(verifyEventHash({ ...event, "\udc00": 1 }))
  })
})
