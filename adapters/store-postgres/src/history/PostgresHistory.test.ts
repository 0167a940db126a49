import { assert, layer } from "@effect/vitest"
import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EventFeed, FEED_START } from "@svc/domain/ports/EventFeed"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { type Acknowledgement, StoreHistory } from "@svc/domain/ports/StoreHistory"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { harnessOrganization } from "@svc/testkit/ProgramHarness"
import { createdChange, followingChange, newPasskey, newSubject } from "@svc/testkit/StoreFixtures"
import { newPlace, recordMandate, storeNow } from "@svc/testkit/store-contract/StoreUnderTest"
import {
  change,
  loadStored,
  newEndpoint,
  recordEnds,
  register
} from "@svc/testkit/store-contract/WebhooksUnderTest"
import { Context, Effect, Layer, Logger, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import type { Connection } from "effect/sql/SqlConnection"
import { preparedPglite } from "../../test/PreparedPglite.ts"
import type { PostgresClients } from "../connection/PostgresClients.ts"
import { connect } from "../PgliteStore.ts"
import { portsOf } from "../PostgresStore.ts"
import { guardHistory, HISTORY_FAULT } from "./HistoryGuard.ts"
import { admissionBy, HistoryOvertaken, HistoryUnacknowledged } from "./PostgresHistory.ts"
import { makeMissingHeads } from "./RecordedHeads.ts"

/** The connections below the ports, for what no port can do: to be another database. */
class Clients extends Context.Service<Clients, PostgresClients>()("@svc/store-postgres/history/Clients") {}

const ports = Layer.effectContext(
  Effect.gen(function* () {
    const clients = yield* connect({ folder: yield* preparedPglite })
    return Context.add(yield* guardHistory(yield* portsOf(clients), true), Clients, clients)
  })
).pipe(Layer.provide(Reactivity.layer))

const run = (statement: string) => Effect.flatMap(Clients, ({ writes }) => writes.unsafe(statement))

const unused = Effect.die("not used")

/** A session of which only the given calls are used. */
const idle: Connection = {
  execute: () => unused,
  executeRaw: () => unused,
  executeUnprepared: () => unused,
  executeValues: () => unused,
  executeValuesUnprepared: () => unused,
  executeStream: () => Stream.die("not used")
}

/** As a promotion leaves it: the database is not the one that the last history was recorded on. */
const promoted = run("update svc.history set timeline = 'FFFFFFFF'")

const acknowledge = (how: Partial<Acknowledgement> = {}) =>
  Effect.flatMap(StoreHistory, (history) =>
    history.acknowledge({ isLossless: false, isRestored: false, ...how })
  )

const read = Effect.fnUntraced(function* (organization: string, after: string) {
  const feed = yield* EventFeed
  return yield* feed.read({ organization, after, limit: 100, bytes: 1_000_000 })
})

const refusalOf = (organization: string, after: string) =>
  Effect.map(Effect.flip(read(organization, after)), (refusal) =>
    refusal._tag === "PositionRefused" ? refusal.reason : refusal.cause
  )

/** An organization with one event, and the position after it. */
const recorded = Effect.gen(function* () {
  const { stream } = yield* recordMandate()
  const { organization } = stream
  yield* (yield* Organizations).put(harnessOrganization({ id: organization }))
  const { position } = yield* read(organization, FEED_START)
  return { organization, position, mandate: stream.state.mandate.terms.mandate_id }
})

layer(ports, { excludeTestServices: true, timeout: "120 seconds" })("the history of a store", (it) => {
  it.effect("needs no acknowledgement if it did not change, and continues", () =>
    Effect.gen(function* () {
      const { organization, position } = yield* recorded
      const history = yield* StoreHistory
      const before = yield* history.state()
      assert.isTrue(before.isAcknowledged)
      assert.deepStrictEqual(before.known, before.found)
      assert.deepStrictEqual(yield* acknowledge({ isLossless: true }), {
        outcome: "unchanged",
        history: before.history
      })
      assert.deepStrictEqual((yield* read(organization, position)).events, [])
      assert.deepStrictEqual(yield* (yield* StoreHealth).faults, [])
    })
  )

  it.effect(
    "is logged once if it changed, and nothing is recorded or continued from until it is acknowledged",
    () =>
      Effect.gen(function* () {
        const { organization, position } = yield* recorded
        yield* promoted
        const told: Array<unknown> = []
        const logger = Logger.layer([
          Logger.make(({ logLevel, message }) => {
            if (logLevel === "Error") told.push(message)
          })
        ])
        const health = yield* StoreHealth
        yield* Effect.gen(function* () {
          for (let look = 0; look < 2; look++) assert.deepStrictEqual(yield* health.faults, [HISTORY_FAULT])
        }).pipe(Effect.provide(logger))
        assert.lengthOf(told, 1)

        const mandates = yield* MandateStore
        const webhooks = yield* WebhookStore
        const leases = yield* DueLeases
        const work = { token: "t", limit: 1, lasts: 1n }
        const endpoint = newEndpoint(organization, yield* storeNow)
        const refused: ReadonlyArray<
          Effect.Effect<unknown, { readonly _tag: string; readonly cause?: unknown }>
        > = [
          mandates.append(createdChange(newPlace(), yield* storeNow, {})),
          leases.take(work),
          webhooks.leaseDue({ ...work, perEndpoint: 1, assured: 1, perOrganization: 1 }),
          webhooks.recordAttempts([{ organization, endpoint, expected: 1, deliveries: [] }]),
          Effect.provideService(read(organization, FEED_START), EventFeed, yield* EventFeed),
          Effect.provideService(read(organization, position), EventFeed, yield* EventFeed)
        ]
        for (const operation of refused) {
          const fault = yield* Effect.flip(operation)
          assert.strictEqual(fault._tag, "StoreUnavailable")
          assert.instanceOf(fault.cause, HistoryUnacknowledged)
        }
        assert.isDefined((yield* mandates.load({ organization })).now)

        const [one, other] = yield* Effect.all([acknowledge(), acknowledge()], { concurrency: "unbounded" })
        assert.sameMembers([one.outcome, other.outcome], ["begun", "unchanged"])
        assert.strictEqual(one.history, other.history)
        assert.deepStrictEqual(yield* Effect.provide(health.faults, logger), [])
        yield* recordMandate({ organization })
        assert.strictEqual(yield* refusalOf(organization, position), "history_changed")
        const anew = yield* read(organization, FEED_START)
        assert.lengthOf(anew.events, 2)
        assert.deepStrictEqual((yield* read(organization, anew.position)).events, [])
      })
  )

  it.effect(
    "continues through every change that lost nothing, except from an event that is gone after all",
    () =>
      Effect.gen(function* () {
        const { mandate, organization, position } = yield* recorded
        for (let change = 0; change < 2; change++) {
          yield* promoted
          assert.strictEqual((yield* acknowledge({ isLossless: true })).outcome, "begun")
          assert.deepStrictEqual((yield* read(organization, position)).events, [])
        }
        // Recorded again after it was lost: the same mandate, number and transaction, and another event.
        yield* run(`update svc.event set id = 'evt_other' where mandate = '${mandate}'`)
        assert.strictEqual(yield* refusalOf(organization, position), "history_changed")
        const { position: next } = yield* read(organization, FEED_START)
        yield* promoted
        yield* acknowledge()
        assert.strictEqual(yield* refusalOf(organization, next), "history_changed")
      })
  )

  it.effect("begins anew when an operator says that the database was restored", () =>
    Effect.gen(function* () {
      const { organization, position } = yield* recorded
      assert.strictEqual((yield* acknowledge({ isRestored: true })).outcome, "begun")
      assert.strictEqual(yield* refusalOf(organization, position), "history_changed")
    })
  )

  it.effect("does not continue with transaction numbers that the server has not reached", () =>
    Effect.gen(function* () {
      const { mandate, organization, position } = yield* recorded
      yield* run(`update svc.event set position = 9000000000 where mandate = '${mandate}'`)
      yield* promoted
      for (const isLossless of [false, true]) {
        assert.strictEqual((yield* acknowledge({ isLossless })).outcome, "positions_ahead")
      }
      yield* run("update svc.event set position = 0")
      assert.strictEqual((yield* acknowledge({ isLossless: true })).outcome, "begun")
      assert.strictEqual(yield* refusalOf(organization, position), "history_changed")
      const { events, position: anew } = yield* read(organization, FEED_START)
      assert.lengthOf(events, 1)
      yield* recordMandate({ organization })
      assert.lengthOf((yield* read(organization, anew)).events, 1)
    })
  )

  it.effect(
    "is recognized as an earlier one, as of an old primary, by a process that has seen a later one",
    () =>
      Effect.gen(function* () {
        const { faults } = yield* StoreHealth
        yield* acknowledge({ isRestored: true })
        assert.deepStrictEqual(yield* faults, [])
        yield* run("delete from svc.history where ordinal = (select max(ordinal) from svc.history)")
        assert.isTrue((yield* (yield* StoreHistory).state()).isAcknowledged)
        assert.deepStrictEqual(yield* faults, [HISTORY_FAULT])
        assert.strictEqual((yield* acknowledge()).outcome, "unchanged")
        assert.deepStrictEqual(yield* faults, [HISTORY_FAULT])
        yield* acknowledge({ isRestored: true })
        assert.deepStrictEqual(yield* faults, [])
        assert.deepStrictEqual(yield* faults, [])
      })
  )

  it.effect("lets no idempotency key answer until a change is acknowledged", () =>
    Effect.gen(function* () {
      const { load } = yield* MandateStore
      const claim = { kind: "idempotency_key", name: "used", fingerprint: "f", resource: "aut_1" } as const
      const { stream } = yield* recordMandate({}, () => ({ claims: [claim] }))
      const { organization } = stream
      const used = load({ organization, claims: [claim] })
      assert.lengthOf((yield* used).held, 1)
      yield* promoted
      yield* (yield* StoreHealth).faults
      const fault = yield* Effect.flip(used)
      assert.instanceOf(fault.cause, HistoryUnacknowledged)
      assert.deepStrictEqual((yield* load({ organization, claims: [{ ...claim, name: "new" }] })).held, [])
      yield* acknowledge({ isLossless: true })
      assert.lengthOf((yield* used).held, 1)
    })
  )

  it.effect("is asked for again in a session when a later one was seen meanwhile", () =>
    Effect.gen(function* () {
      const { schema, writes } = yield* Clients
      const { history } = yield* (yield* StoreHistory).state()
      let last: string | undefined
      const session = (meanwhile: string) => ({
        ...idle,
        execute: (sql: string, parameters: ReadonlyArray<unknown>) =>
          Effect.tap(writes.unsafe(sql, [...parameters]), () =>
            Effect.sync(() => {
              last = meanwhile
            })
          )
      })
      const admission = admissionBy(
        { schema },
        () => last,
        () => true
      )
      // An old primary that was asked before this process saw the history after its own.
      const refused = yield* Effect.flip(admission(session("a later one")))
      assert.instanceOf(refused.reason.cause, HistoryOvertaken)
      last = undefined
      yield* admission(session(history))
    })
  )

  it.effect("lacks nothing that an operator removed with its mandate", () =>
    Effect.gen(function* () {
      const { mandate, organization } = yield* recorded
      const clients = yield* Clients
      const [row] = yield* clients.reads.unsafe<{ readonly id: string }>(
        `select id from svc.event where mandate = '${mandate}'`
      )
      const missing = makeMissingHeads(clients)
      const head = { organization, mandate, seq: 1, event: row!.id }
      assert.deepStrictEqual(yield* missing([head]), [])
      yield* run(`insert into svc.removed_mandate
        select organization, mandate, 'REVOKED', seq, 'h', 0, array[id], 0 from svc.event where mandate = '${mandate}'`)
      yield* run(`delete from svc.event where mandate = '${mandate}'`)
      yield* run(`delete from svc.stream where mandate = '${mandate}'`)
      assert.deepStrictEqual(yield* missing([head]), [])
      const later = { ...head, seq: 2, event: "evt_later" }
      assert.deepStrictEqual(yield* missing([later]), [{ ...later, found: 0 }])
    })
  )

  it.effect("gives no revision again that a lost change had", () =>
    Effect.gen(function* () {
      const subjects = yield* SubjectStore
      const mandates = yield* MandateStore
      const place = newPlace()
      const { organization, subjectReference: reference } = place
      const endpoint = yield* register(organization)
      const enrolled = newSubject({ passkeys: [newPasskey()] })
      const current = yield* recordMandate(place, () => ({
        subject: { reference, expected: "absent", next: enrolled }
      }))
      const rotated = { ...endpoint, secretVersion: 2 }
      const retired = { ...enrolled, passkeys: [] }

      // Changes that servers have read and a failover loses: the rows are what they were before.
      yield* run(
        `create table svc.before as select revision, record from svc.webhook_endpoint where endpoint = '${endpoint.id}'`
      )
      const first = {
        endpoint: (yield* loadStored(endpoint)).revision,
        subject: current.stream.subject!.revision
      }
      const lost = yield* change(rotated, { expected: first.endpoint })
      yield* subjects.replace({ ...place, expected: first.subject, next: retired })
      const lostSubject = (yield* subjects.load(place)).subject!.revision
      yield* run(`update svc.webhook_endpoint e set revision = b.revision, record = b.record from svc.before b
        where e.endpoint = '${endpoint.id}'`)
      yield* run(`update svc.subject set revision = ${first.subject} where organization = '${organization}'`)
      yield* run("drop table svc.before")
      yield* promoted
      yield* acknowledge()

      const renamed = { ...endpoint, description: "since the failover" }
      const { revision } = yield* change(renamed, { expected: first.endpoint })
      yield* subjects.replace({ ...place, expected: first.subject, next: enrolled })
      const stale = { endpoint: rotated, ...lost }
      assert.strictEqual((yield* Effect.flip(recordEnds(stale, [])))._tag, "Stale")
      assert.strictEqual((yield* Effect.flip(change(rotated, { expected: lost.revision })))._tag, "Stale")
      const reuse = subjects.replace({ ...place, expected: lostSubject, next: retired })
      assert.strictEqual((yield* Effect.flip(reuse))._tag, "Stale")
      const approve = (expected: number) =>
        mandates.append(followingChange(current, [], { subject: { reference, expected, next: retired } }))
      assert.strictEqual((yield* Effect.flip(approve(lostSubject)))._tag, "Stale")
      assert.deepStrictEqual(yield* loadStored(endpoint), { endpoint: renamed, revision })

      // From there they count by one again.
      assert.deepStrictEqual(yield* recordEnds({ endpoint: renamed, revision }, []), {
        revision: revision + 1
      })
      const { subject } = yield* subjects.load(place)
      assert.deepStrictEqual(subject, { ...enrolled, revision: subject!.revision })
      yield* approve(subject!.revision)
      assert.deepStrictEqual((yield* subjects.load(place)).subject, {
        ...retired,
        revision: subject!.revision + 1
      })

      // An endpoint or a subject that was made since has none of the lost numbers either.
      const made = newPlace({ organization })
      yield* recordMandate(made, () => ({
        subject: { reference: made.subjectReference, expected: "absent", next: enrolled }
      }))
      assert.isAtLeast((yield* subjects.load(made)).subject!.revision, revision)
      assert.isAtLeast((yield* loadStored(yield* register(organization))).revision, revision)
    })
  )

  it.effect("gives no revision again either when the clock of the next server is behind", () =>
    Effect.gen(function* () {
      const { organization } = newPlace()
      yield* promoted
      yield* acknowledge()
      // The server that has failed was an hour ahead when its history was acknowledged.
      yield* run("update svc.history set began_at = began_at + 3600000000000 where ordinal > 1")
      const endpoint = yield* register(organization)
      const { revision: expected } = yield* loadStored(endpoint)
      const lost = yield* change({ ...endpoint, secretVersion: 2 }, { expected })
      yield* run(`update svc.webhook_endpoint set revision = ${expected} where endpoint = '${endpoint.id}'`)
      yield* promoted
      yield* acknowledge()
      const { revision } = yield* change({ ...endpoint, description: "since" }, { expected })
      assert.isAbove(revision, lost.revision)
    })
  )

  it.effect("depends on what the server reports of its identity", () =>
    Effect.gen(function* () {
      const { state } = yield* StoreHistory
      for (const [known, isAcknowledged] of [
        ["cluster = null, timeline = null", true],
        ["cluster = null, timeline = '00000001'", true],
        ["cluster = null, timeline = '00000002'", false],
        ["cluster = '1', timeline = null", false]
      ] as const) {
        yield* run(`update svc.history set ${known}`)
        assert.strictEqual((yield* state()).isAcknowledged, isAcknowledged, known)
      }
    })
  )
})
