import { assert, describe, it } from "@effect/vitest"
import { sha256 } from "@noble/hashes/sha2.js"
import * as Result from "effect/Result"
import { encodeBase64Url } from "../Base64Url.ts"
import type { JsonValue } from "../json/Json.ts"
import { parseStrictJson } from "../json/StrictJson.ts"
import { requestFingerprint } from "./RequestFingerprint.ts"

const operation = "POST /v1/mandates/{mandate_id}/authorizations"
const path = { mandate_id: "mnd_1" }
const read = (text: string): JsonValue => Result.getOrThrow(parseStrictJson(new TextEncoder().encode(text)))
const fingerprint = (text: string) => requestFingerprint({ operation, path, body: read(text) })

describe("the request fingerprint (part 3)", () => {
  it("is SHA-256 over JCS of operation, path parameters and body", () => {
    const text = `{"body":{"a":1},"operation":"${operation}","path_parameters":{"mandate_id":"mnd_1"}}`
    assert.strictEqual(fingerprint('{"a":1}'), encodeBase64Url(sha256(new TextEncoder().encode(text))))
  })

  it("is the same for the same input written differently", () => {
    const expected = fingerprint('{"a":1,"b":"a"}')
    for (const text of ['{"b":"a","a":1}', ' { "a" : 1.0,\n"b":"\\u0061" }', '{"a":1e0,"\\u0062":"a"}']) {
      assert.strictEqual(fingerprint(text), expected)
    }
  })

  it("differs for another body, path or operation", () => {
    const body = read('{"a":"0.1"}')
    const fingerprints = [
      requestFingerprint({ operation, path, body }),
      requestFingerprint({ operation, path, body: read('{"a":"0.10"}') }),
      requestFingerprint({ operation, path, body: {} }),
      requestFingerprint({ operation, path: { mandate_id: "mnd_2" }, body }),
      requestFingerprint({ operation, path: {}, body }),
      requestFingerprint({ operation: "PUT /v1/mandates/{mandate_id}/revocation", path, body })
    ]
    assert.strictEqual(new Set(fingerprints).size, fingerprints.length)
  })

  it("does not depend on the order of names that sort apart in UTF-16 and in code points", () => {
    assert.strictEqual(fingerprint('{"\ufb33":1,"\u{1f600}":2}'), fingerprint('{"\u{1f600}":2,"\ufb33":1}'))
  })

  it("covers a member named __proto__", () => {
    assert.notStrictEqual(fingerprint('{"a":{"__proto__":1}}'), fingerprint('{"a":{}}'))
  })
})
