import { assert, describe, it } from "@effect/vitest"
import { formatIdentifier } from "@svc/protocol/Identifier"
import { parseTimestamp } from "@svc/protocol/Timestamp"
import { Redacted } from "effect"
import {
  apiKeyHash,
  apiKeyRecord,
  formatApiKey,
  isActiveApiKey,
  isWellFormedApiKey,
  newApiKey
} from "./ApiKey.ts"

const text = formatApiKey("test", new Uint8Array(32).fill(7))
const record = apiKeyRecord({ id: "key_1", organizationId: "org_1", key: text, createdAt: "now" })

describe("an API key", () => {
  it("is a prefix and base64url of 32 bytes, and is not shown when it is printed", () => {
    assert.match(Redacted.value(text), /^svc_test_[A-Za-z0-9_-]{43}$/)
    assert.notInclude(String(text), "svc_test_")
  })

  it("is kept by hash, with every scope unless said", () => {
    assert.deepStrictEqual(record.scopes, ["read", "write", "webhooks"])
    assert.notInclude(JSON.stringify(record), Redacted.value(text).slice(9))
  })

  it("is made with a record of its hash, and of what it is for where that is said", () => {
    const drawn = { bytes: (length: number) => new Uint8Array(length).fill(7), now: 1_000_000n }
    const { key, record: made } = newApiKey({ environment: "live", id: "org_1" }, drawn)
    assert.strictEqual(Redacted.value(key), Redacted.value(formatApiKey("live", new Uint8Array(32).fill(7))))
    assert.deepStrictEqual(made, {
      id: made.id,
      organizationId: "org_1",
      hash: apiKeyHash(key),
      scopes: ["read", "write", "webhooks"],
      createdAt: "1970-01-01T00:00:00.001000000Z"
    })
    assert.strictEqual(made.id, formatIdentifier("key_", 1, new Uint8Array(10).fill(7)))
    const grant = { scopes: ["read"], expiresAt: "2026-12-01T00:00:00Z" } as const
    assert.deepInclude(newApiKey({ environment: "live", id: "org_1" }, drawn, grant).record, grant)
  })

  it("is well formed in its own environment alone", () => {
    assert.isTrue(isWellFormedApiKey("test", text))
    assert.isFalse(isWellFormedApiKey("live", text))
    assert.isFalse(isWellFormedApiKey("test", Redacted.make(`${Redacted.value(text)}=`)))
  })

  it("is active until the instant of its expiry, and never once it is revoked (part 9)", () => {
    const expiresAt = "2026-12-01T00:01:00Z"
    const end = parseTimestamp(expiresAt) ?? assert.fail("no timestamp")
    assert.isTrue(isActiveApiKey(record, end))
    assert.isTrue(isActiveApiKey({ ...record, expiresAt }, end - 1n))
    assert.isFalse(isActiveApiKey({ ...record, expiresAt }, end))
    assert.isFalse(isActiveApiKey({ ...record, revokedAt: "2026-12-01T00:00:00Z" }, end))
  })
})
