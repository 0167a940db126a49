import { assert, it } from "@effect/vitest"
import { sha256 } from "@noble/hashes/sha2.js"
import * as fc from "fast-check"
import { encodeBase64Url } from "../Base64Url.ts"
import { type DomainLine, domainHash, domainHashBase64Url } from "./DomainHash.ts"

const LINES: ReadonlyArray<DomainLine> = [
  "svc:authorization:commitment:v1",
  "svc:mandate:policy:v1",
  "svc:mandate:approval:v1",
  "svc:journal:event:v1"
]

const utf8 = new TextEncoder()

it("a hash of a domain is that of its line, a line feed and the content, be it text or bytes", () => {
  fc.assert(
    fc.property(fc.constantFrom(...LINES), fc.string({ unit: "binary" }), (line, text) => {
      const content = utf8.encode(text)
      const expected = sha256(Uint8Array.from([...utf8.encode(line), 0x0a, ...content]))
      assert.deepStrictEqual(domainHash(line, text), expected)
      assert.deepStrictEqual(domainHash(line, content), expected)
      assert.strictEqual(domainHashBase64Url(line, text), encodeBase64Url(expected))
      assert.strictEqual(domainHashBase64Url(line, content), encodeBase64Url(expected))
    })
  )
})
