import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import { EndedMandates } from "@svc/domain/ports/EndedMandates"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { WaitingDeliveries } from "@svc/domain/ports/WaitingDeliveries"
import { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import { readEventFeed } from "@svc/domain/programs/EventFeed"
import { listWebhookDeliveries, redeliverWebhook } from "@svc/domain/programs/WebhookDeliveries"
import { createWebhookEndpoint, deleteWebhookEndpoint } from "@svc/domain/programs/WebhookEndpoints"
import { formatInstant } from "@svc/protocol/Timestamp"
import { type Caller, commitReport, proposalBody, singleBody } from "@svc/testkit/ProgramHarness"
import { DAY } from "@svc/testkit/StoreFixtures"
import { Effect, Layer, Redacted, Result, Schedule } from "effect"
import * as PostgresStore from "../src/PostgresStore.ts"
import { preparedStore } from "./PreparedPglite.ts"
import { clockOf, newCaller, portsBesideStore, roomyBody } from "./ProgramsOnPostgres.ts"
import { openTestDatabase } from "./TestPostgres.ts"

/*
 * What an operator removes, and that it permits no second use of anything: on a server with divided tables, and on PGlite.
 */

const server = await openTestDatabase()

const PARTITIONS = 3

const onServer = PostgresStore.layer({
  url: Redacted.make(server?.url ?? ""),
  schema: `ended_${randomBytes(6).toString("hex")}`,
  partitions: PARTITIONS,
  migrations: "run"
})

const besideStore = Layer.mergeAll(
  portsBesideStore,
  Layer.sync(StreamTurns)(makeTurns),
  Layer.succeed(WebhookTransport)({ check: () => Effect.void, deliver: () => Effect.never })
)

const STORES = [
  ["Postgres", Layer.orDie(onServer), server !== undefined],
  ["PGlite", Layer.orDie(preparedStore), true]
] as const

const storeNow = Effect.flatMap(MandateStore, clockOf)

/** All that has ended by now. */
const ended = Effect.fnUntraced(function* ({ organization }: Caller, subjectReference?: string) {
  const endedBefore = yield* storeNow
  const { mandates } = yield* (yield* EndedMandates).list({
    organization: organization.id,
    endedBefore,
    ...(subjectReference === undefined ? {} : { subjectReference })
  })
  return { mandates, endedBefore }
})

const remove = Effect.fnUntraced(function* (caller: Caller, mandate: string) {
  const { endedBefore, mandates } = yield* ended(caller)
  const found = mandates.find((one) => one.mandate === mandate)!
  return yield* (yield* EndedMandates).remove({
    organization: caller.organization.id,
    ended: found,
    endedBefore
  })
})

/** A SINGLE mandate that was used, with the bodies and keys of what was done. */
const consumed = Effect.fnUntraced(function* (caller: Caller, number = 1) {
  const now = yield* storeNow
  const body = singleBody({}, { window: { ends_at: formatInstant(now + DAY) } })
  const { resource: mandate } = yield* caller.create(body, `create-${number}`)
  yield* caller.approve(mandate.id)
  const proposal = proposalBody(number)
  const { resource: authorization } = yield* caller.propose(mandate.id, proposal, `propose-${number}`)
  const report = commitReport(number, { reported_accepted_at: formatInstant(now) })
  yield* caller.commit(authorization.id, report, `commit-${number}`)
  return { mandate: mandate.id, authorization: authorization.id, body, proposal, report }
})

const revoked = Effect.fnUntraced(function* (caller: Caller, subject = "user_8f2") {
  const body = { ...roomyBody(yield* storeNow), subject_reference: subject }
  const { resource } = yield* caller.create(body)
  yield* caller.revoke(resource.id)
  return resource.id
})

const register = ({ organization }: Caller) =>
  Effect.map(
    createWebhookEndpoint({
      organization,
      idempotencyKey: crypto.randomUUID(),
      body: { url: "https://hooks.shop.example/svc" }
    }),
    ({ resource }) => resource.id
  )

/** The types of the events after a cursor, once there are so many, and the next cursor. */
const feedOf = ({ organization }: Caller, count: number, after?: string) =>
  readEventFeed({
    organization: organization.id,
    limit: 100,
    ...(after === undefined ? {} : { after })
  }).pipe(
    Effect.repeat({
      until: ({ data }) => data.length >= count,
      schedule: Schedule.spaced("20 millis"),
      times: 500
    }),
    Effect.map(({ data, next_cursor }) => ({
      types: data.map((text) => JSON.parse(text).type as string),
      cursor: String(next_cursor)
    }))
  )

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ _tag }) => _tag)

describe.each(STORES)("ended mandates on %s", (_name, store, isThere) => {
  if (!isThere) return it.skip("is not there", () => undefined)

  it.layer(Layer.merge(store, besideStore), { excludeTestServices: true, timeout: "120 seconds" })((it) => {
    it.effect("are listed once nothing is open, and nothing happened since", () =>
      Effect.gen(function* () {
        const caller = newCaller()
        const before = yield* storeNow
        const used = yield* consumed(caller)
        const other = yield* revoked(caller, "user_other")
        const { resource: living } = yield* caller.create(roomyBody(yield* storeNow))
        const { resource: opened } = yield* caller.create(roomyBody(yield* storeNow))
        yield* caller.approve(opened.id)
        yield* caller.propose(opened.id, proposalBody(7))
        yield* caller.revoke(opened.id)

        const idsOf = (found: Effect.Success<ReturnType<typeof ended>>) =>
          found.mandates.map(({ mandate }) => mandate)
        const all = yield* ended(caller)
        assert.deepStrictEqual(idsOf(all), [used.mandate, other])
        assert.deepInclude(all.mandates[0], { state: "CONSUMED", seq: 5 })
        assert.deepStrictEqual(idsOf(yield* ended(caller, "user_other")), [other])
        assert.deepStrictEqual(idsOf(yield* ended(caller, "nobody")), [])
        assert.notInclude(idsOf(all), living.id)
        const port = yield* EndedMandates
        const organization = caller.organization.id
        const early = yield* port.list({ organization, endedBefore: before })
        assert.deepStrictEqual(early, { mandates: [] })
        const rest = yield* port.list({ organization, endedBefore: all.endedBefore, after: used.mandate })
        assert.deepStrictEqual(
          rest.mandates.map(({ mandate }) => mandate),
          [other]
        )
      })
    )

    it.effect("go with all their rows, and leave every key and commitment taken", () =>
      Effect.gen(function* () {
        const caller = newCaller()
        const used = yield* consumed(caller)
        const { resource: living } = yield* caller.create(roomyBody(yield* storeNow))
        yield* caller.approve(living.id)
        const before = yield* feedOf(caller, 7)
        const place = yield* feedOf(caller, 5)
        assert.lengthOf(place.types, 7)

        assert.deepStrictEqual(yield* remove(caller, used.mandate), {
          events: 5,
          authorizations: 1,
          approvalSessions: 0
        })
        for (const read of [
          caller.read(used.mandate),
          caller.readAuthorization(used.authorization),
          caller.evidence(used.mandate),
          caller.events({ mandateId: used.mandate, limit: 10 }),
          caller.authorizations({ mandateId: used.mandate, limit: 10 })
        ]) {
          assert.strictEqual(
            yield* tagOf<unknown, { readonly _tag: string }, never>(read as never),
            "NotFound"
          )
        }
        const { data } = yield* caller.list({ limit: 10 })
        assert.deepStrictEqual(
          data.map(({ id }) => id),
          [living.id]
        )

        // A retry makes no second mandate, and no second authorization; another request under its key is told so.
        assert.strictEqual(yield* tagOf(caller.create(used.body, "create-1")), "NotFound")
        const another = singleBody({ max_amount: 1 }, { window: { ends_at: "2030-01-01T00:00:00Z" } })
        assert.strictEqual(yield* tagOf(caller.create(another, "create-1")), "IdempotencyKeyReused")
        assert.strictEqual(yield* tagOf(caller.propose(used.mandate, used.proposal, "propose-1")), "NotFound")
        assert.strictEqual(
          yield* tagOf(caller.propose(living.id, used.proposal, "propose-1")),
          "IdempotencyKeyReused"
        )
        assert.strictEqual(
          yield* tagOf(caller.commit(used.authorization, used.report, "commit-1")),
          "NotFound"
        )
        assert.strictEqual(yield* tagOf(caller.commit(used.authorization, used.report)), "NotFound")
        assert.strictEqual(yield* tagOf(caller.propose(living.id, used.proposal)), "CommitmentReused")
        assert.strictEqual((yield* caller.propose(living.id, proposalBody(9))).resource.state, "RESERVED")

        // A cursor from before goes on, and one that is made anew shows what is left.
        const after = yield* feedOf(caller, 1, before.cursor)
        assert.deepStrictEqual(after.types, ["authorization.reserved"])
        const left = yield* feedOf(caller, 3)
        assert.deepStrictEqual(left.types, ["mandate.created", "mandate.approved", "authorization.reserved"])
      })
    )

    it.effect("leave the feed's positions good, at each of their events", () =>
      Effect.gen(function* () {
        const caller = newCaller()
        const used = yield* consumed(caller)
        yield* feedOf(caller, 5)
        const cursors: Array<string> = []
        for (let count = 1; count <= 5; count++) {
          const page = yield* readEventFeed({ organization: caller.organization.id, limit: count })
          cursors.push(String(page.next_cursor))
        }
        yield* remove(caller, used.mandate)
        yield* revoked(caller)
        for (const cursor of cursors) {
          assert.deepStrictEqual((yield* feedOf(caller, 2, cursor)).types, [
            "mandate.created",
            "mandate.revoked"
          ])
        }
        const tampered = `${cursors[0]!.slice(0, -2)}AA`
        const refused = yield* Effect.result(
          readEventFeed({ organization: caller.organization.id, limit: 1, after: tampered })
        )
        assert.isTrue(Result.isFailure(refused))
      })
    )

    it.effect("name nothing in the process either that has just written to them", () =>
      Effect.gen(function* () {
        const caller = newCaller()
        const { resource } = yield* caller.create(roomyBody(yield* storeNow))
        const { id } = resource
        yield* caller.approve(id)
        yield* caller.propose(id, proposalBody(1))
        const [open] = (yield* caller.authorizations({ mandateId: id, limit: 1 })).data
        yield* caller.cancel(open!.id)
        yield* caller.revoke(id)
        yield* remove(caller, id)
        const late = [
          yield* Effect.flip(caller.revoke(id)),
          yield* Effect.flip(caller.propose(id, proposalBody(2))),
          yield* Effect.flip(caller.commit(open!.id, commitReport(1)))
        ]
        assert.deepStrictEqual(
          late.map(({ _tag }) => _tag),
          ["NotFound", "NotFound", "NotFound"]
        )
      })
    )

    it.effect("are removed once, and not when something was recorded since", () =>
      Effect.gen(function* () {
        const caller = newCaller()
        const organization = caller.organization.id
        const port = yield* EndedMandates
        const used = yield* consumed(caller)
        const { endedBefore, mandates } = yield* ended(caller)
        const [found] = mandates
        const reasonOf = (parts: object) =>
          Effect.map(
            Effect.flip(port.remove({ organization, ended: { ...found!, ...parts }, endedBefore })),
            (kept) => (kept._tag === "MandateKept" ? kept.reason : kept._tag)
          )
        assert.strictEqual(yield* reasonOf({ revision: found!.revision - 1 }), "changed")
        assert.strictEqual(yield* reasonOf({ hash: "another" }), "changed")
        assert.strictEqual(yield* reasonOf({ mandate: "mnd_unknown" }), "changed")
        const early = yield* Effect.flip(
          port.remove({ organization, ended: found!, endedBefore: found!.occurredAt })
        )
        assert.deepInclude(early, { _tag: "MandateKept", reason: "not_ended" })
        const foreign = yield* Effect.flip(
          port.remove({ organization: newCaller().organization.id, ended: found!, endedBefore })
        )
        assert.deepInclude(foreign, { reason: "changed" })

        yield* caller.refund(used.authorization, {
          amount: 1,
          currency: "EUR",
          provider_refund_reference: "ref_1",
          reported_refunded_at: formatInstant(yield* storeNow)
        })
        assert.strictEqual(yield* reasonOf({}), "changed")
        assert.strictEqual((yield* caller.read(used.mandate)).state, "CONSUMED")
        assert.strictEqual((yield* remove(caller, used.mandate)).events, 6)
        const again = { ...found!, seq: 6, hash: "another" }
        assert.deepInclude(yield* Effect.flip(port.remove({ organization, ended: again, endedBefore })), {
          reason: "changed"
        })
      })
    )

    it.effect("are removed or reported on, never both, when both come at once", () =>
      Effect.gen(function* () {
        const caller = newCaller()
        const organization = caller.organization.id
        const port = yield* EndedMandates
        for (let round = 1; round <= 4; round++) {
          const used = yield* consumed(caller, round)
          const { endedBefore, mandates } = yield* ended(caller)
          const found = mandates.find(({ mandate }) => mandate === used.mandate)!
          const refund = caller.refund(used.authorization, {
            amount: 1,
            currency: "EUR",
            provider_refund_reference: "ref_1",
            reported_refunded_at: formatInstant(yield* storeNow)
          })
          const removal = port.remove({ organization, ended: found, endedBefore })
          const [reported, removed] = yield* Effect.all([Effect.result(refund), Effect.result(removal)], {
            concurrency: "unbounded"
          })
          assert.notStrictEqual(Result.isSuccess(reported), Result.isSuccess(removed))
          if (Result.isFailure(reported)) assert.strictEqual(reported.failure._tag, "NotFound")
          if (Result.isSuccess(removed)) {
            // A repetition, as after a lost answer.
            const again = yield* port.remove({ organization, ended: found, endedBefore })
            assert.deepStrictEqual(again, { events: 0, authorizations: 0, approvalSessions: 0 })
          }
        }
      })
    )

    it.effect("stay while a webhook of theirs waits, until it is given up", () =>
      Effect.gen(function* () {
        const caller = newCaller()
        const { organization } = caller
        const endpoint = yield* register(caller)
        const waiting = yield* WaitingDeliveries
        const at = { organization: organization.id, endpoint }
        const mandate = yield* revoked(caller)
        assert.deepInclude(yield* Effect.flip(remove(caller, mandate)), { reason: "deliveries_waiting" })
        assert.deepStrictEqual(yield* waiting.count(at), { waiting: 2, underWay: 0 })
        assert.strictEqual(yield* waiting.giveUp({ ...at, organization: "org_other", limit: 10 }), 0)
        assert.strictEqual(yield* waiting.giveUp({ ...at, limit: 1 }), 1)
        assert.deepInclude(yield* Effect.flip(remove(caller, mandate)), { reason: "deliveries_waiting" })
        assert.strictEqual(yield* waiting.giveUp({ ...at, limit: 10 }), 1)
        assert.strictEqual(yield* waiting.giveUp({ ...at, limit: 10 }), 0)
        const { data } = yield* listWebhookDeliveries({
          organization: organization.id,
          endpointId: endpoint,
          limit: 10
        })
        assert.deepStrictEqual(
          data.map(({ attempts, next_attempt_at, state }) => [state, attempts.length, next_attempt_at]),
          [
            ["exhausted", 0, undefined],
            ["exhausted", 0, undefined]
          ]
        )
        // What was given up can be delivered again, and waits like any other.
        const write = { organization, idempotencyKey: crypto.randomUUID(), body: {}, endpointId: endpoint }
        yield* redeliverWebhook({ ...write, deliveryId: data[0]!.id })
        assert.deepInclude(yield* Effect.flip(remove(caller, mandate)), { reason: "deliveries_waiting" })
        yield* deleteWebhookEndpoint({ ...write, idempotencyKey: crypto.randomUUID() })
        assert.strictEqual(yield* waiting.giveUp({ ...at, limit: 10 }), 0)
        assert.strictEqual((yield* remove(caller, mandate)).events, 2)
      })
    )
  })
})

afterAll(() => server?.stop())
