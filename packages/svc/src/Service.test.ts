import { afterAll, assert, describe, it } from "@effect/vitest"
import { StreamTurns } from "@svc/domain/engine/StreamTurns"
import { ApiKeyCache } from "@svc/domain/programs/ApiKeyCache"
import { preparedPglite } from "@svc/store-postgres/test/PreparedPglite"
import { approveOnPage } from "@svc/testkit/ApproveOnPage"
import { Effect, Exit, Layer, Scope } from "effect"
import {
  approvedMandate,
  commitReport,
  makeShop,
  newMandate,
  newProposal,
  RETURN_ORIGIN
} from "../test/Shop.ts"
import { layer, readMandate } from "./effect.ts"
import { createService, type LogEntry, type Service, SvcError } from "./index.ts"
import { memory } from "./memory.ts"
import { pglite } from "./pglite.ts"
import { ServiceParts } from "./Service.ts"
import { StoreIdentity, StoreLayer } from "./Store.ts"

const refusalOf = async (call: Promise<unknown>): Promise<SvcError> => {
  const outcome = await call.then(
    () => "done",
    (error: unknown) => error
  )
  assert.instanceOf(outcome, SvcError)
  return outcome as SvcError
}

const folders = Effect.runSync(Scope.make())

afterAll(() => Effect.runPromise(Scope.close(folders, Exit.void)))

/** A store in a folder of its own. */
const inFolder = async () => ({
  store: pglite({ folder: await Effect.runPromise(Scope.provide(preparedPglite, folders)) }),
  masterKey: new Uint8Array(32)
})

for (const [name, storage] of [
  ["in memory", () => ({})],
  ["on PGlite", inFolder]
] as const) {
  describe(`a service ${name}`, () => {
    it("walks the whole lifecycle, the approval by fetch with plain requests", async () => {
      const shop = makeShop(await storage())
      const service = createService(shop.serviceOptions)
      const face = service.forOrganization(shop.id)
      const mandate = await approvedMandate(shop, face, service.fetch)
      assert.strictEqual((await face.mandates.get(mandate)).state, "ACTIVE")

      const { opening, proposal } = await newProposal()
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
      const { after, events } = JSON.parse(
        Buffer.from((await face.mandates.evidence(mandate, { afterSeq: 2 })).payload, "base64url").toString()
      )
      assert.deepStrictEqual(events, (payload.events as ReadonlyArray<unknown>).slice(2))
      assert.deepStrictEqual(after, { seq: 2, hash: events[0].previous_hash })
      const forged = { ...evidence, payload: `${evidence.payload.slice(0, -4)}AAAA` }
      const refused = await service.verifyEvidence(forged).then(
        () => "verified",
        (error: unknown) => error
      )
      assert.instanceOf(refused, TypeError)

      const types: Array<string> = []
      for await (const { type } of face.events.list({ limit: 2 })) types.push(type)
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
    for (const none of [undefined, null, 7, {}])
      assert.throws(
        () => service.forOrganization(none as unknown as string),
        SvcError,
        /forOrganization takes/u
      )
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
    const third = createService(makeShop().serviceOptions)
    const turnsOf = (service: Service) => service[ServiceParts].runtime.run(StreamTurns)
    assert.notStrictEqual(await turnsOf(second), await turnsOf(third))
    const cacheOf = (service: Service) => service[ServiceParts].runtime.run(ApiKeyCache)
    assert.notStrictEqual(await cacheOf(second), await cacheOf(third))
    await Promise.all([second.close(), third.close()])
  })

  it("takes no store of another one that is lost with it, also after that was closed", async () => {
    for (const store of [memory(), pglite()]) {
      const { serviceOptions } = makeShop({ store })
      // What is refused for another reason has taken nothing.
      assert.throws(() => createService({ ...serviceOptions, baseUrl: "" }), /baseUrl must be a URL/u)
      const first = createService(serviceOptions)
      const again = () => createService({ ...serviceOptions, store: { ...store } })
      assert.throws(again, TypeError, "make one for each, as memory() does")
      assert.throws(() => layer(serviceOptions), TypeError, "belongs to a service that was made before")
      await first.close()
      assert.throws(again, TypeError)
    }
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

  it("lets nobody in by scopes that are none", async () => {
    for (const [scopes, status] of [
      [["read"], 200],
      [undefined, 200],
      [null, 500],
      ["read", 500],
      ["overwrite", 500],
      [["read", "all"], 500],
      [new Set(["read"]), 500]
    ] as const) {
      const shop = makeShop({ authenticate: async () => ({ organization: shop.id, scopes }) as never })
      const service = createService(shop.serviceOptions)
      const answer = await service.fetch(new Request("http://localhost:3000/mandates/v1/mandates"))
      assert.strictEqual(answer.status, status, String(scopes))
      await service.close()
    }
    for (const misspelt of [{ scope: ["read"] }, { Scopes: ["read"] }]) {
      const shop = makeShop({ authenticate: async () => ({ organization: shop.id, ...misspelt }) as never })
      const service = createService(shop.serviceOptions)
      const answer = await service.fetch(new Request("http://localhost:3000/mandates/v1/mandates"))
      assert.strictEqual(answer.status, 500, JSON.stringify(misspelt))
      await service.close()
    }
    const shop = makeShop({ authenticate: async () => null as never })
    const service = createService(shop.serviceOptions)
    const answer = await service.fetch(new Request("http://localhost:3000/mandates/v1/mandates"))
    assert.strictEqual(answer.status, 401)
    await service.close()
  })

  it("answers whoever cannot be told from others, however a host's clientAddress fails, and says so once", async () => {
    for (const clientAddress of [
      () => {
        throw new Error("no address")
      },
      async () => "192.0.2.1",
      () => Promise.reject(new Error("no address")),
      // biome-ignore lint/suspicious/noThenProperty: what a query builder returns.
      () => ({ then: (_: unknown, reject: (reason: unknown) => void) => reject(new Error("no address")) }),
      () => {
        throw Object.create(null)
      },
      () => ({})
    ]) {
      const logged: Array<LogEntry> = []
      const shop = makeShop({
        clientAddress: clientAddress as never,
        logger: (entry) => entry.level === "error" && logged.push(entry)
      })
      const service = createService(shop.serviceOptions)
      const ask = () => service.fetch(new Request("http://localhost:3000/mandates/v1/mandates"))
      const answers = [await ask(), await ask()]
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [401, 401]
      )
      assert.lengthOf(logged, 1)
      assert.include(logged[0]?.message, "clientAddress")
      assert.strictEqual(logged[0]?.facts.request_id, answers[0]?.headers.get("x-request-id"))
      await service.close()
    }
  })

  it("goes on though what its host's logger returns rejects or never resolves, a promise or like one", async () => {
    const full = new Error("the log is full")
    const unhandled: Array<unknown> = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on("unhandledRejection", note)
    for (const outcome of [
      Promise.reject(full),
      // biome-ignore lint/suspicious/noThenProperty: what a query builder returns.
      { then: (_: unknown, reject: (reason: unknown) => void) => reject(full) },
      {
        // biome-ignore lint/suspicious/noThenProperty: what a query builder returns.
        then: () => {
          throw full
        }
      },
      {
        // biome-ignore lint/suspicious/noThenProperty: what a query builder returns.
        get then() {
          throw full
        }
      },
      // biome-ignore lint/suspicious/noThenProperty: what a query builder returns.
      { then: () => undefined }
    ]) {
      const shop = makeShop({ logger: () => outcome as never })
      const service = createService(shop.serviceOptions)
      const answer = await service.fetch(new Request("http://localhost:3000/mandates/healthz"))
      assert.strictEqual(answer.status, 200)
      await service.close()
    }
    await new Promise((resolve) => setTimeout(resolve))
    process.off("unhandledRejection", note)
    assert.deepStrictEqual(unhandled, [])
  })

  it("keeps its options as they were when it was made", async () => {
    const masterKey = crypto.getRandomValues(new Uint8Array(32))
    const written = Uint8Array.from(masterKey)
    const storage = await inFolder()
    const first = makeShop({ ...storage, masterKey })
    const service = createService(first.serviceOptions)
    masterKey.fill(0)
    for (const organization of first.serviceOptions.organizations ?? [])
      Object.assign(organization, { returnOrigins: [RETURN_ORIGIN, "https://elsewhere.example"] })
    await service.ready()
    const face = service.forOrganization(first.id)
    const { id } = await face.mandates.create(newMandate("user_1"))
    const refused = await refusalOf(
      face.mandates.openApproval(id, {
        identity_assertion: await first.assertion("user_1"),
        return_url: "https://elsewhere.example/",
        return_state: "unpredictable-0001"
      })
    )
    assert.strictEqual(refused.code, "return_url_not_allowed")
    await service.close()
    const again = createService({ ...first.serviceOptions, store: storage.store, masterKey: written })
    await again.ready()
    await again.close()
  })

  it("recognizes end users as its host does, each assertion once", async () => {
    let isDown = false
    const logged: Array<string> = []
    const shop = makeShop({
      logger: ({ cause = "", message }) => logged.push(message, cause),
      identify: async (assertion) => {
        if (isDown) throw new Error("the session store is down")
        if (assertion === "ended") return { refused: "The session has ended." }
        if (assertion === "late") return { subject: "user_1", expiresAt: new Date(0) }
        if (assertion === "mistaken") return { subject: 7 as unknown as string }
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
    for (const [assertion, code, message] of [
      ["nobody", "identity_assertion_invalid", /of nobody whom this service's host recognizes/u],
      ["ended", "identity_assertion_invalid", /^The session has ended\.$/u],
      ["late", "identity_assertion_invalid", /has expired/u],
      ["mistaken", "internal_error", /^(?!.*subject)/u]
    ] as const) {
      const refused = await refusalOf(open(assertion))
      assert.strictEqual(refused.code, code)
      assert.match(refused.message, message)
    }
    assert.match(logged.join("\n"), /identify must resolve with a subject/u)
    assert.strictEqual((await refusalOf(open("session of user_2"))).code, "subject_mismatch")
    isDown = true
    const unavailable = await refusalOf(open("session of user_1"))
    assert.deepStrictEqual([unavailable.code, unavailable.retryAfter], ["store_unavailable", 1])
    isDown = false
    const session = await open("session of user_1")
    assert.strictEqual((await refusalOf(open("session of user_1"))).code, "assertion_replayed")
    await approveOnPage(session.approval_url ?? "", service.fetch)
    assert.strictEqual((await face.mandates.get(id)).state, "ACTIVE")
    await service.close()
  })

  it("is unavailable while its store cannot be opened, and tries again", async () => {
    let isDown = true
    const working = memory()
    const failed = new Error("the database does not answer")
    const logged: Array<string> = []
    const shop = makeShop({
      logger: ({ message }) => logged.push(message),
      store: {
        ...working,
        [StoreLayer]: (signer) =>
          Layer.unwrap(
            Effect.suspend(() => (isDown ? Effect.fail(failed) : Effect.succeed(working[StoreLayer](signer))))
          )
      }
    })
    const service = createService(shop.serviceOptions)
    const unavailable = await refusalOf(service.forOrganization(shop.id).mandates.list())
    assert.deepStrictEqual([unavailable.code, unavailable.retryable], ["store_unavailable", true])
    const health = () => service.fetch(new Request("http://localhost:3000/mandates/healthz"))
    const answer = await health()
    const problem = await answer.json()
    assert.deepStrictEqual(
      [answer.status, answer.headers.get("retry-after"), problem.code, problem.request_id],
      [503, "1", "store_unavailable", answer.headers.get("x-request-id")]
    )
    const opening = await service.ready().then(
      () => "open",
      (error: unknown) => String(error)
    )
    assert.include(opening, "the database does not answer")
    // Once, though every call tries.
    assert.lengthOf(
      logged.filter((message) => message.includes("the database does not answer")),
      1
    )
    isDown = false
    assert.strictEqual((await health()).status, 200)
    await service.close()
  })

  it("does not take over an organization of the other environment", async () => {
    const working = memory()
    const services = await Effect.runPromise(
      Layer.build(working[StoreLayer](undefined) as unknown as Layer.Layer<never>).pipe(
        Scope.provide(folders)
      )
    )
    const { [StoreIdentity]: _, ...shared } = working
    const store = {
      ...shared,
      [StoreLayer]: (() => Layer.succeedContext(services)) as unknown as (typeof working)[typeof StoreLayer],
      outlivesProcess: true
    }
    const shop = makeShop({ store, masterKey: new Uint8Array(32) })
    const first = createService(shop.serviceOptions)
    await first.ready()
    const [organization] = shop.serviceOptions.organizations ?? []
    const live = createService({
      ...shop.serviceOptions,
      organizations: [{ ...organization!, reportGraceSeconds: 0 }],
      environment: "live",
      baseUrl: "https://api.shop.example",
      approvalUrl: "https://approve.shop.example"
    })
    const refused = await live.ready().then(
      () => "open",
      (error: unknown) => String(error)
    )
    assert.match(refused, /one of the test environment in this store/u)
    await live.close()
    await first.close()
  })

  it("takes an optional member that is undefined for one that is not given", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const mandate = { ...newMandate("user"), description: undefined } as ReturnType<typeof newMandate>
    assert.strictEqual((await service.forOrganization(shop.id).mandates.create(mandate)).kind, "SINGLE")
    await service.close()
  })

  it("answers whatever its host's logger throws", async () => {
    const shop = makeShop({
      logger: () => {
        throw new Error("the log is full")
      }
    })
    const service = createService(shop.serviceOptions)
    const answer = await service.fetch(new Request("http://localhost:3000/mandates/healthz"))
    assert.strictEqual(answer.status, 200)
    await service.close()
  })

  it("lets calls finish that were made before it is closed", async () => {
    const shop = makeShop(await inFolder())
    const service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    await service.ready()
    const created = Promise.all(
      Array.from({ length: 5 }, (_, at) => face.mandates.create(newMandate(`user_${at}`)))
    )
    await service.close()
    assert.lengthOf(await created, 5)
  })

  it("refuses an API key whose settings are not valid", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const late = await refusalOf(service.createApiKey(shop.id, { expiresAt: "tomorrow" }))
    assert.deepStrictEqual(
      late.errors.map(({ pointer }) => pointer),
      ["/expiresAt"]
    )
    const much = await refusalOf(service.createApiKey(shop.id, { scopes: ["admin" as "read"] }))
    assert.deepStrictEqual(
      much.errors.map(({ pointer }) => pointer),
      ["/scopes"]
    )
    for (const [given, pointer] of [
      [{ scopes: "read" }, "/scopes"],
      [{ scopes: null }, "/scopes"],
      [{ expiresAt: "2020-01-01T00:00:00Z" }, "/expiresAt"],
      [{ expiresAt: 60 }, "/expiresAt"]
    ] as const) {
      const { code, errors } = await refusalOf(service.createApiKey(shop.id, given as never))
      assert.deepStrictEqual([code, errors.map((fault) => fault.pointer)], ["validation_failed", [pointer]])
    }
    for (const [given, words] of [
      [{ scope: ["read"] }, 'there is no option "scope"; was scopes meant?'],
      [{ expires_at: "2030-01-01T00:00:00Z" }, 'there is no option "expires_at"; was expiresAt meant?'],
      [{ expiresIn: 60 }, 'there is no option "expiresIn"'],
      [["read"], "was given a list"],
      [null, "was given null"]
    ] as const) {
      const { code, message } = await refusalOf(service.createApiKey(shop.id, given as never))
      assert.strictEqual(code, "invalid_argument")
      assert.include(message, words)
    }
    for (const id of [undefined, Promise.resolve(shop.id)])
      assert.include(
        (await refusalOf(service.createApiKey(id as never))).message,
        "createApiKey takes the identifier of an organization"
      )
    await service.close()
  })

  it("refuses calls after it was closed", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    await service.ready()
    await service.close()
    const refused = await refusalOf(service.forOrganization(shop.id).mandates.list())
    assert.deepStrictEqual(
      [refused.code, refused.message, refused.retryable],
      ["store_unavailable", "The service is closed.", false]
    )
    assert.strictEqual(
      (await service.fetch(new Request("http://localhost:3000/mandates/healthz"))).status,
      503
    )
  })
})
