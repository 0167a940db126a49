import { assert, describe, it } from "@effect/vitest"
import { StreamTurns } from "@svc/domain/engine/StreamTurns"
import { Effect } from "effect"
import { approveOn } from "../test/EndUser.ts"
import {
  approvedMandate,
  commitReport,
  makeShop,
  newMandate,
  newProposal,
  RETURN_ORIGIN
} from "../test/Shop.ts"
import { layer, readMandate } from "./effect.ts"
import { createService, type Service, type ServiceOptions, SvcError } from "./index.ts"
import { pglite } from "./pglite.ts"
import { ServiceParts } from "./Service.ts"

const refusalOf = async (call: Promise<unknown>): Promise<SvcError> => {
  const outcome = await call.then(
    () => "done",
    (error: unknown) => error
  )
  assert.instanceOf(outcome, SvcError)
  return outcome as SvcError
}

for (const [name, store] of [
  ["in memory", undefined],
  ["on PGlite", pglite]
] as const) {
  describe(`a service ${name}`, () => {
    it("walks the whole lifecycle, the approval by fetch with plain requests", async () => {
      const shop = makeShop(store === undefined ? {} : { store: store() })
      const service = createService(shop.serviceOptions)
      const face = service.forOrganization(shop.id)
      const mandate = await approvedMandate(shop, face, service.fetch)
      assert.strictEqual((await face.mandates.get(mandate)).state, "ACTIVE")

      const { opening, proposal } = newProposal()
      const authorization = await face.authorizations.propose(mandate, proposal, {
        idempotencyKey: "order-1"
      })
      assert.isTrue(authorization.can_execute)
      const again = await face.authorizations.propose(mandate, proposal, { idempotencyKey: "order-1" })
      assert.strictEqual(again.id, authorization.id)
      const outcome = await face.authorizations.commit(authorization.id, commitReport(opening))
      assert.strictEqual(outcome.state, "COMMITTED")

      const evidence = await face.mandates.evidence(mandate)
      const payload = await service.verifyEvidence(JSON.parse(JSON.stringify(evidence)))
      assert.strictEqual((payload.mandate as { readonly id: string }).id, mandate)
      const forged = { ...evidence, payload: `${evidence.payload.slice(0, -4)}AAAA` }
      const refused = await service.verifyEvidence(forged).then(
        () => "verified",
        (error: unknown) => error
      )
      assert.instanceOf(refused, TypeError)

      const types: Array<string> = []
      for await (const page of face.events.iterate({ limit: 2 }))
        types.push(...page.data.map(({ type }) => type))
      const journal = await face.mandates.events(mandate, { limit: 100 })
      assert.deepStrictEqual(
        types,
        journal.data.map(({ type }) => type)
      )
      await service.close()
    })
  })
}

describe("a service", () => {
  it("throws refusals with code, status, members at fault and a message that says what is wrong", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    const invalid = await refusalOf(
      face.mandates.create({
        ...newMandate("user"),
        policy: { currency: "EUR", max_amount: -1, allowed_actions: [] }
      })
    )
    assert.deepStrictEqual(
      [invalid.code, invalid.status, invalid.retryable],
      ["validation_failed", 422, false]
    )
    assert.include(
      invalid.errors.map(({ pointer }) => pointer),
      "/policy/max_amount"
    )
    assert.include(invalid.message, "/policy/max_amount:")
    const missing = await refusalOf(face.mandates.get("mnd_00000000000000000000000000"))
    assert.deepStrictEqual([missing.code, missing.status], ["not_found", 404])
    const nobody = await refusalOf(service.forOrganization("org_00000000000000000000000000").mandates.list())
    assert.include(nobody.message, "no such organization")
    await service.close()
  })

  it("gives programs in Effect the same services", async () => {
    const shop = makeShop()
    const outcome = await Effect.runPromise(
      readMandate({ organization: shop.id, mandateId: "mnd_00000000000000000000000000" }).pipe(
        Effect.catchTag("NotFound", () => Effect.succeed("not found")),
        Effect.provide(layer(shop.serviceOptions))
      )
    )
    assert.strictEqual(outcome, "not found")
  })

  it("shares nothing with another one in the same process", async () => {
    const [one, other] = [makeShop(), makeShop()]
    const first = createService(one.serviceOptions)
    const second = createService({
      ...other.serviceOptions,
      organizations: one.serviceOptions.organizations ?? []
    })
    const { id } = await first.forOrganization(one.id).mandates.create(newMandate("user"))
    assert.strictEqual((await refusalOf(second.forOrganization(one.id).mandates.get(id))).code, "not_found")
    await first.close()
    assert.lengthOf((await second.forOrganization(one.id).mandates.list()).data, 0)
    const turnsOf = (service: Service) => service[ServiceParts].runtime.runPromise(StreamTurns)
    assert.notStrictEqual(await turnsOf(second), await turnsOf(createService(other.serviceOptions)))
    await second.close()
  })

  it("answers callers with an API key, and nobody without one", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const { key } = await service.createApiKey(shop.id, { scopes: ["read"] })
    const get = (headers: Record<string, string>) =>
      service.fetch(new Request("http://localhost:3000/mandates/v1/mandates", { headers }))
    assert.strictEqual((await get({})).status, 401)
    const answered = await get({ authorization: `Bearer ${key}` })
    assert.deepStrictEqual([answered.status, (await answered.json()).data], [200, []])
    await service.close()
  })

  it("authenticates by the host's own sessions where it is told how", async () => {
    const shop = makeShop({
      authenticate: async (request) =>
        request.headers.get("x-session") === "good" ? { organization: shop.id, scopes: ["read"] } : undefined
    })
    const service = createService(shop.serviceOptions)
    const ask = (session: string, init: RequestInit = {}) =>
      service.fetch(
        new Request("http://localhost:3000/mandates/v1/mandates", {
          ...init,
          headers: { "x-session": session }
        })
      )
    assert.strictEqual((await ask("good")).status, 200)
    assert.strictEqual((await ask("bad")).status, 401)
    const write = await ask("good", { method: "POST", body: "{}" })
    assert.deepStrictEqual([write.status, (await write.json()).code], [403, "scope_insufficient"])
    await service.close()
  })

  it("recognizes end users as its host does, each assertion once", async () => {
    let isDown = false
    const shop = makeShop({
      identify: async (assertion) => {
        if (isDown) throw new Error("the session store is down")
        return assertion.startsWith("session of ") ? { subject: assertion.split(" ")[2]! } : undefined
      }
    })
    const organizations = [{ id: shop.id, name: "Shop", returnOrigins: [RETURN_ORIGIN] }]
    const service = createService({ ...shop.serviceOptions, organizations })
    const face = service.forOrganization(shop.id)
    const { id } = await face.mandates.create(newMandate("user_1"))
    const open = (identity_assertion: string) =>
      face.mandates.openApproval(id, {
        identity_assertion,
        return_url: `${RETURN_ORIGIN}/back`,
        return_state: "unpredictable-0001"
      })
    assert.strictEqual((await refusalOf(open("nobody"))).code, "identity_assertion_invalid")
    assert.strictEqual((await refusalOf(open("session of user_2"))).code, "subject_mismatch")
    isDown = true
    const unavailable = await refusalOf(open("session of user_1"))
    assert.deepStrictEqual([unavailable.code, unavailable.retryAfterSeconds], ["store_unavailable", 1])
    isDown = false
    const session = await open("session of user_1")
    assert.strictEqual((await refusalOf(open("session of user_1"))).code, "assertion_replayed")
    await approveOn(session.approval_url ?? "", service.fetch)
    assert.strictEqual((await face.mandates.get(id)).state, "ACTIVE")
    await service.close()
  })

  it("refuses calls after it was closed", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    await service.ready()
    await service.close()
    const outcome = await service
      .forOrganization(shop.id)
      .mandates.list()
      .then(
        () => "done",
        () => "refused"
      )
    assert.strictEqual(outcome, "refused")
  })

  for (const [what, wrong, message] of [
    ["no HTTPS in live", { environment: "live" }, /approvalUrl must begin with https/u],
    [
      "one origin in live",
      { environment: "live", baseUrl: "https://a.example/m", approvalUrl: "https://a.example/a" },
      /another origin/u
    ],
    ["one path", { approvalUrl: "http://localhost:3000/mandates" }, /different hosts or different paths/u],
    ["a foreign rpId", { rpId: "other.example" }, /rpId/u],
    ["a short master key", { masterKey: "AAAA" }, /masterKey must be 32 bytes/u],
    ["no master key with a lasting store", { store: pglite({ folder: "unused" }) }, /masterKey is missing/u],
    [
      "an organization's id that is none",
      { organizations: [{ id: "shop", name: "", returnOrigins: [] }] },
      /"shop"/u
    ]
  ] as const satisfies ReadonlyArray<readonly [string, Partial<ServiceOptions>, RegExp]>) {
    it(`is not made with ${what}`, () => {
      const { serviceOptions } = makeShop(wrong)
      assert.throws(() => createService(serviceOptions), message)
    })
  }
})
