import type { ApiKey, Organization } from "@svc/domain/organization/Organization"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { Instant } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { newDigest, newIdentifier } from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { type StoreIt, storeNow } from "./StoreUnderTest.ts"

const newOrganization = (parts: Partial<Organization> = {}): Organization => ({
  id: newIdentifier("org_"),
  environment: "test",
  name: "B\u00fccher & \u{1f4da} \u2014 \ufb33",
  returnOrigins: [],
  reportGraceSeconds: 0,
  passkeyEnrolment: "FIRST_USE",
  ...parts
})

const newApiKey = (organizationId: string, parts: Partial<ApiKey> = {}): ApiKey => ({
  id: newIdentifier("key_"),
  organizationId,
  hash: newDigest(),
  scopes: ["read", "write", "webhooks"],
  createdAt: "2026-01-01T00:00:00Z",
  ...parts
})

export const organizationContract = (it: StoreIt): void => {
  it.describe("organizations", () => {
    it.effect("an organization is absent, created, and replaced as a whole", () =>
      Effect.gen(function* () {
        const organizations = yield* Organizations
        const plain = newOrganization()
        assert.isUndefined(yield* organizations.find(plain.id))
        yield* organizations.put(plain)
        assert.deepStrictEqual(yield* organizations.find(plain.id), plain)
        const full: Organization = {
          ...plain,
          name: "renamed",
          billingAccountReference: "ba_1",
          identity: {
            issuer: "https://id.example",
            audience: "svc",
            algorithms: ["ES256", "EdDSA"],
            keys: { jwks: { keys: [{ kty: "EC", crv: "P-256", x: newDigest(), y: newDigest(), kid: "" }] } }
          },
          returnOrigins: ["https://shop.example", "https://b.example:8443"],
          reportGraceSeconds: 3600,
          passkeyEnrolment: "CALLER_ALLOWED"
        }
        yield* organizations.put(full)
        assert.deepStrictEqual(yield* organizations.find(plain.id), full)
        const remote = { ...full.identity!, keys: { jwksUri: "https://id.example/jwks" } }
        yield* organizations.put({ ...full, identity: remote })
        assert.deepStrictEqual((yield* organizations.find(plain.id))?.identity, remote)
        yield* organizations.put(plain)
        assert.deepStrictEqual(yield* organizations.find(plain.id), plain)
      })
    )

    it.effect("an API key is found by its hash, with its organization and the clock", () =>
      Effect.gen(function* () {
        const organizations = yield* Organizations
        const organization = newOrganization()
        const [first, second] = [newApiKey(organization.id), newApiKey(organization.id, { scopes: ["read"] })]
        yield* organizations.put(organization)
        yield* organizations.putApiKey(first)
        yield* organizations.putApiKey(second)
        for (const apiKey of [first, second]) {
          const before = yield* storeNow
          const found = yield* organizations.findApiKey(apiKey.hash)
          assert.deepStrictEqual(found?.apiKey, apiKey)
          assert.deepStrictEqual(found?.organization, organization)
          assert.isTrue(found!.now >= before && found!.now <= (yield* storeNow))
        }
        for (const hash of [newDigest(), "", first.hash.toLowerCase(), `${first.hash} `, first.id]) {
          assert.isUndefined(yield* organizations.findApiKey(hash))
        }
      })
    )

    it.effect("a key is found whatever its condition, as it is now", () =>
      Effect.gen(function* () {
        const organizations = yield* Organizations
        const organization = newOrganization()
        yield* organizations.put(organization)
        const apiKey = newApiKey(organization.id, { expiresAt: "2001-01-01T00:00:00Z" })
        yield* organizations.putApiKey(apiKey)
        assert.deepStrictEqual((yield* organizations.findApiKey(apiKey.hash))?.apiKey, apiKey)
        const revoked = { ...apiKey, revokedAt: "2026-01-01T00:00:00.5Z" }
        yield* organizations.putApiKey(revoked)
        assert.deepStrictEqual((yield* organizations.findApiKey(apiKey.hash))?.apiKey, revoked)
        yield* organizations.put({ ...organization, name: "another name" })
        const found = yield* organizations.findApiKey(apiKey.hash)
        assert.strictEqual(found?.organization.name, "another name")
      })
    )

    it.effect("the keys of an organization are listed by identifier, whatever their condition", () =>
      Effect.gen(function* () {
        const organizations = yield* Organizations
        const organization = newOrganization()
        yield* organizations.put(organization)
        assert.deepStrictEqual((yield* organizations.listApiKeys(organization.id)).apiKeys, [])
        const first = newApiKey(organization.id, { expiresAt: "2001-01-01T00:00:00Z" })
        const second = newApiKey(organization.id, { scopes: ["read"] })
        yield* organizations.putApiKey(second)
        yield* organizations.putApiKey(first)
        yield* organizations.putApiKey(newApiKey(newIdentifier("org_")))
        const revoked = { ...second, revokedAt: "2026-01-01T00:00:00Z" }
        yield* organizations.putApiKey(revoked)
        const before = yield* storeNow
        const list = yield* organizations.listApiKeys(organization.id)
        assert.deepStrictEqual(list.apiKeys, [first, revoked])
        assert.isTrue(list.now >= before && list.now <= (yield* storeNow))
        for (const nobody of ["", "\u0000", organization.id.toUpperCase()]) {
          assert.deepStrictEqual((yield* organizations.listApiKeys(nobody)).apiKeys, [])
        }
      })
    )

    it.effect("the last use of a key is recorded, unless one is on record since", () =>
      Effect.gen(function* () {
        const organizations = yield* Organizations
        const organization = newOrganization()
        const [used, idle] = [newApiKey(organization.id), newApiKey(organization.id)]
        yield* organizations.put(organization)
        yield* organizations.putApiKey(used)
        yield* organizations.putApiKey(idle)
        const lastUse = Effect.map(organizations.findApiKey(used.hash), (found) => found?.lastUsedAt)
        const use = (since: Instant, apiKey = used.id, owner = organization.id) =>
          organizations.recordApiKeyUse({ organization: owner, apiKey, since })
        assert.isUndefined(yield* lastUse)
        const before = yield* storeNow
        yield* use(before, used.id, newIdentifier("org_"))
        yield* use(before, newIdentifier("key_"))
        assert.isUndefined(yield* lastUse)
        yield* use(before)
        const first = yield* lastUse
        assert.isTrue(first! >= before && first! <= (yield* storeNow))
        yield* use(first!)
        assert.strictEqual(yield* lastUse, first)
        yield* use(first! + 1n)
        const second = yield* lastUse
        assert.isTrue(second! >= first!)
        yield* organizations.putApiKey({ ...used, revokedAt: "2026-01-01T00:00:00Z" })
        assert.strictEqual(yield* lastUse, second)
        const { lastUsedAt } = yield* organizations.listApiKeys(organization.id)
        assert.deepStrictEqual([...lastUsedAt], [[used.id, second]])
      })
    )

    it.effect("a key that was given another hash is not found by the old one", () =>
      Effect.gen(function* () {
        const organizations = yield* Organizations
        const organization = newOrganization()
        yield* organizations.put(organization)
        const apiKey = newApiKey(organization.id)
        const rotated = { ...apiKey, hash: newDigest() }
        yield* organizations.putApiKey(apiKey)
        yield* organizations.putApiKey(rotated)
        assert.isUndefined(yield* organizations.findApiKey(apiKey.hash))
        assert.deepStrictEqual((yield* organizations.findApiKey(rotated.hash))?.apiKey, rotated)
      })
    )
  })
}
