import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { byteVectors } from "../../test/ByteVectors.ts"
import { canonicalJson } from "../json/CanonicalJson.ts"
import type { JsonObject } from "../json/Json.ts"
import { eventHash, sealEventText, verifyEventHash } from "./EventHash.ts"

describe("the hash of an event (part 7)", () => {
  it.each(byteVectors.event_hash)("is the vector's for $type", ({ hash, ...event }) => {
    assert.strictEqual(eventHash(event as JsonObject), hash)
    const sealed = sealEventText(event as JsonObject)
    assert.strictEqual(sealed.hash, hash)
    const read = JSON.parse(sealed.text) as JsonObject
    assert.deepStrictEqual(read, { ...event, hash } as JsonObject)
    assert.isTrue(verifyEventHash(read))
  })

  it("chains the events of the vectors", () => {
    const [first, second] = byteVectors.event_hash
    assert.isUndefined(first!.previous_hash)
    assert.strictEqual(second!.previous_hash, first!.hash)
  })

  it("stands in its sorted place of the canonical text", () => {
    const { text, hash } = sealEventText({ type: "x", id: "y", data: {} })
    assert.strictEqual(text, `{"data":{},"hash":"${hash}","id":"y","type":"x"}`)
  })

  it("leaves the text canonical whatever the members are called", () => {
    const names = fc.constantFrom(
      "a",
      "hasg",
      "hash ",
      "hasha",
      "hat",
      'z"hat',
      "z",
      "\u00e9",
      "\u{1f600}",
      "__proto__",
      ""
    )
    fc.assert(
      fc.property(fc.dictionary(names, fc.jsonValue({ maxDepth: 2, stringUnit: "grapheme" })), (members) => {
        const event = members as JsonObject
        const { bytes, hash, text } = sealEventText(event)
        assert.strictEqual(hash, eventHash(event))
        assert.strictEqual(text, canonicalJson({ ...event, hash }))
        assert.strictEqual(bytes, new TextEncoder().encode(text).length)
      })
    )
  })

  it("is refused for an event that has one", () => {
    assert.throws(() => eventHash(byteVectors.event_hash[0]!), TypeError)
    assert.throws(() => sealEventText(byteVectors.event_hash[0]!), TypeError)
  })
})

describe("verification of an event's hash (part 7)", () => {
  const event = byteVectors.event_hash[1]! as JsonObject

  it("fails for any member changed, added or removed", () => {
    for (const name of Object.keys(event)) {
      const { [name]: _, ...without } = event
      assert.isFalse(verifyEventHash(without), name)
      assert.isFalse(verifyEventHash({ ...event, [name]: "other" }), name)
    }
    assert.isFalse(verifyEventHash({ ...event, extra: 1 }))
  })

  it("returns false, without throwing, for a hash or strings that this service cannot produce", () => {
    for (const hash of [null, 1, [], ""]) assert.isFalse(verifyEventHash({ ...event, hash }))
    assert.isFalse(verifyEventHash({ ...event, extra: "\ud800" }))
    assert.isFalse(verifyEventHash({ ...event, "\udc00": 1 }))
  })
})
