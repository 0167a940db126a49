import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { isRedactedText, readSecret, secretHash, secretOfBytes } from "./BearerSecret.ts"

const secret = secretOfBytes(new Uint8Array(32).fill(7), "approval_token")

describe("a bearer secret", () => {
  it("is base64url of random bytes, and is not shown when it is printed", () => {
    assert.match(Redacted.value(secret), /^[A-Za-z0-9_-]{43}$/u)
    assert.notInclude(String(secret), Redacted.value(secret))
    assert.include(String(secret), "approval_token")
  })

  it("is stored as base64url SHA-256 of its text", () => {
    assert.strictEqual(secretHash(Redacted.make("")), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU")
  })

  it("is read as it was given, if it can be one", () => {
    assert.strictEqual(readSecret(secret), secret)
    const text = Redacted.value(secret)
    for (const other of [`${text}A`, text.slice(1), `${text.slice(1)}=`, `${text.slice(1)}+`, ""]) {
      assert.isUndefined(readSecret(Redacted.make(other)), other)
    }
    assert.isUndefined(readSecret(text))
    assert.isUndefined(readSecret(undefined))
  })

  it("is a text that has not been wiped", () => {
    assert.isTrue(isRedactedText(Redacted.make("")))
    assert.isFalse(isRedactedText(Redacted.make(7)))
    const wiped = Redacted.make("wiped")
    Redacted.wipeUnsafe(wiped)
    assert.isFalse(isRedactedText(wiped))
    const hostile = new Proxy(
      {},
      {
        has: () => {
          throw new Error("trapped")
        }
      }
    )
    assert.isFalse(isRedactedText(hostile))
  })
})
