import { randomBytes, randomInt } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Signer } from "@svc/domain/ports/Signer"
import { verifyEventHash } from "@svc/protocol/evidence/EventHash"
import { verifyEvidence } from "@svc/protocol/evidence/EvidenceEnvelope"
import type { JsonObject } from "@svc/protocol/json/Json"
import { formatInstant, type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import {
  type Caller,
  commitReport,
  type ProgramPorts,
  proposalBody,
  recurringBody,
  storedJournal
} from "@svc/testkit/ProgramHarness"
import { createdChange, DAY, followingChange, newIdentifier, revokedFact } from "@svc/testkit/StoreFixtures"
import { Context, Effect, Exit, Fiber, Result } from "effect"
import { clockOf, newCaller, processOn } from "./ProgramsOnPostgres.ts"
import { assertUnavailable, bounded, recovered } from "./StreamUnderFaults.ts"
import { withClient } from "./TestClient.ts"
import { startTestPostgres } from "./TestPostgres.ts"

/*
 * Faults that people reported in public of systems like this one, as inputs to this one, on a server. Each test has the
 * name of the report that it comes from.
 */

const server = await startTestPostgres()
const url = server?.url ?? ""
const schema = `cases_${randomBytes(6).toString("hex")}`

const atOnce = { concurrency: "unbounded" } as const

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

interface World {
  readonly caller: Caller
  readonly now: Instant
  /** Runs a program as one process of several would. */
  readonly run: <A, E>(program: Effect.Effect<A, E, ProgramPorts>) => Effect.Effect<A, E>
  readonly mandateBody: (policy?: JsonObject) => JsonObject
  /** A mandate that was approved; gives its identifier. */
  readonly newMandate: (policy?: JsonObject) => Effect.Effect<string, unknown>
}

const begin = Effect.gen(function* () {
  const ports = yield* processOn({ url, schema })
  const now = yield* clockOf(Context.get(ports, MandateStore))
  const caller = newCaller()
  const mandateBody = (policy: JsonObject = {}) =>
    recurringBody(
      { max_amount: 10_000, periods: [{ unit: "MONTH", max_amount: 1_000_000 }], ...policy },
      { window: { ends_at: formatInstant(now + 30n * DAY) } }
    )
  const run: World["run"] = Effect.provide(ports)
  const world: World = {
    caller,
    now,
    run,
    mandateBody,
    newMandate: (policy) =>
      Effect.gen(function* () {
        const { resource } = yield* caller.create(mandateBody(policy))
        yield* caller.approve(resource.id)
        return resource.id
      }).pipe(run)
  }
  return world
})

/** Ends the connections of this test's stores. */
const terminateAll = withClient(
  url,
  (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'svc' and query like ${`%${schema}%`}`
)

const committedEvents = (texts: ReadonlyArray<string>) =>
  texts.filter((text) => JSON.parse(text).type === "authorization.committed")

describe.skipIf(server === undefined)(
  "PostgresStore in failures reported of other projects",
  { timeout: 120_000 },
  () => {
    afterAll(() => server?.stop())

    it.live.skipIf(server?.own === undefined)(
      "records a write once after the database was stopped and started (effect 7236)",
      () =>
        Effect.gen(function* () {
          const { caller, mandateBody, run } = yield* begin
          const body = mandateBody()
          yield* run(caller.create(body))
          yield* Effect.promise(() => server!.own!.shutDown())
          assertUnavailable(yield* bounded(run(caller.create(body, "k"))))
          yield* Effect.promise(() => server!.own!.start())
          const { resource, replayed } = yield* recovered(run(caller.create(body, "k")))
          assert.isFalse(replayed)
          assert.strictEqual((yield* run(caller.list({ limit: 9 }))).data[0]?.id, resource.id)
          assert.lengthOf((yield* run(caller.list({ limit: 9 }))).data, 2)
        })
    )

    it.live("records a commit once if it is dropped at random points and sent again (effect 5968)", () =>
      Effect.gen(function* () {
        const { caller, newMandate, now, run } = yield* begin
        const mandate = yield* newMandate()
        const report = { reported_accepted_at: formatInstant(now) }
        for (const number of numbers(30)) {
          const { resource } = yield* run(caller.propose(mandate, proposalBody(number)))
          const commit = caller.commit(resource.id, commitReport(number, report), `commit-${number}`)
          const dropped = yield* Effect.forkChild(run(commit))
          yield* Effect.sleep(randomInt(8))
          if (number % 3 === 0) yield* Effect.ignore(terminateAll)
          yield* Fiber.interrupt(dropped)
          const texts = yield* recovered(run(storedJournal(caller.organization.id, mandate)))
          // What was sent may still be recorded: it waits in line with others, whoever has left.
          const isCommitted = committedEvents(texts).length === number + 1
          const { state } = yield* run(caller.readAuthorization(resource.id))
          assert.include(isCommitted ? ["COMMITTED"] : ["RESERVED", "COMMITTED"], state)
          const again = yield* recovered(run(commit))
          assert.isTrue(again.replayed || state === "RESERVED")
          assert.strictEqual(again.resource.state, "COMMITTED")
        }
        const texts = yield* run(storedJournal(caller.organization.id, mandate))
        assert.lengthOf(committedEvents(texts), 30)
        const { usage } = yield* run(caller.read(mandate))
        assert.strictEqual(usage?.committed_amount, 30_000)
        assert.strictEqual(usage?.reserved_amount, 0)
      })
    )

    it.live("writes instants with nine fraction digits in every copy (knex-data-api-client 82)", () =>
      Effect.gen(function* () {
        const { caller, now, run } = yield* begin
        const store = yield* run(MandateStore)
        const organization = caller.organization.id
        const mandate = newIdentifier("mnd_")
        const second = now - (now % NANOS_PER_SECOND) - NANOS_PER_SECOND
        const place = { organization, mandate, subjectReference: mandate }
        yield* store.append(createdChange(place, now, { occurredAt: second }))
        const { stream } = yield* store.load({ organization, stream: place })
        yield* store.append(followingChange({ now, stream: stream! }, [revokedFact(second + 120_000_000n)]))
        const [whole, tenths] = [".000000000Z", ".120000000Z"].map(
          (fraction) => `${formatInstant(second).slice(0, 19)}${fraction}`
        )
        const texts = yield* run(storedJournal(organization, mandate))
        assert.deepStrictEqual(
          texts.map((text) => JSON.parse(text).occurred_at),
          [whole, tenths]
        )
        const listed = yield* run(caller.events({ mandateId: mandate, limit: 9 }))
        assert.deepStrictEqual(listed.data, texts)
        const resource = yield* run(caller.read(mandate))
        assert.strictEqual(resource.created_at, whole)
        const envelope = yield* run(caller.evidence(mandate))
        const keySet = yield* run(Effect.flatMap(Signer, (signer) => signer.keySet))
        const { payloadText } = Result.getOrThrow(verifyEvidence(envelope, keySet))
        assert.isTrue(payloadText.includes(`"events":[${texts.join(",")}]`))
        assert.isTrue(texts.every((text) => verifyEventHash(JSON.parse(text))))
      })
    )

    it.live("returns sums of amounts as numbers (node-postgres 1618)", () =>
      Effect.gen(function* () {
        const { caller, newMandate, now, run } = yield* begin
        const report = { reported_accepted_at: formatInstant(now) }
        const decide = Effect.fn("decide")(function* (first: number, used: number, asked: number) {
          const mandate = yield* newMandate({ max_total_amount: 10_000 })
          const { resource } = yield* run(caller.propose(mandate, proposalBody(first, used)))
          yield* run(caller.commit(resource.id, commitReport(first, report)))
          return (yield* run(caller.propose(mandate, proposalBody(first + 1, asked)))).resource.decision
        })
        assert.strictEqual(yield* decide(100, 9000, 1500), "DENY")
        assert.strictEqual(yield* decide(200, 900, 150), "ALLOW")
      })
    )

    it.live("records 50 concurrent proposals on one mandate (five-bells-ledger 388)", () =>
      Effect.gen(function* () {
        const { caller, newMandate, run } = yield* begin
        const mandate = yield* newMandate()
        const answers = yield* Effect.forEach(
          numbers(50),
          (number) => run(caller.propose(mandate, proposalBody(300 + number, 100 + number))),
          atOnce
        )
        assert.isTrue(answers.every(({ resource }) => resource.decision === "ALLOW"))
        const { usage } = yield* run(caller.read(mandate))
        assert.strictEqual(usage?.reserved_amount, 50 * 100 + (49 * 50) / 2)
        assert.strictEqual(usage?.reserved_executions, 50)
      })
    )

    it.live(
      "serves the next 20 requests after connections were killed in mid-transaction (anarlog 6896)",
      () =>
        Effect.gen(function* () {
          const { caller, newMandate, run } = yield* begin
          const mandate = yield* newMandate()
          const lock = `select 1 from "${schema}".stream s where s.mandate = $1 for update`
          const killed = yield* withClient(url, (sql) =>
            sql.withTransaction(
              Effect.gen(function* () {
                yield* sql.unsafe(lock, [mandate])
                const waiting = yield* Effect.forkChild(
                  Effect.exit(run(caller.propose(mandate, proposalBody(400))))
                )
                yield* sql<{ readonly pid: number }>`select pg_terminate_backend(pid) from pg_stat_activity
              where application_name = 'svc' and wait_event_type = 'Lock'`.pipe(
                  Effect.repeat({ until: (rows) => rows.length > 0, times: 10_000 })
                )
                return yield* Fiber.join(waiting)
              })
            )
          )
          assertUnavailable(killed)
          const exits = yield* Effect.forEach(numbers(20), (number) =>
            Effect.exit(run(caller.propose(mandate, proposalBody(410 + number))))
          )
          assert.isTrue(exits.every(Exit.isSuccess))
          const texts = yield* run(storedJournal(caller.organization.id, mandate))
          assert.lengthOf(texts, 22)
        })
    )

    it.live("refuses U+0000 in a reference, an attribute's name and its value (OpenMetadata 30955)", () =>
      Effect.gen(function* () {
        const { caller, mandateBody, newMandate, run } = yield* begin
        const mandate = yield* newMandate()
        const before = yield* run(storedJournal(caller.organization.id, mandate))
        const withAttributes = (number: number, attributes: JsonObject) =>
          proposalBody(number, 1000, {
            proposed_action: {
              action: "card.create",
              payment: { amount: 1000, currency: "EUR" },
              attributes
            }
          })
        const calls = [
          caller.propose(mandate, proposalBody(450, 1000, { external_reference: "a\u0000b" })),
          caller.propose(mandate, withAttributes(451, { "a\u0000b": "c" })),
          caller.propose(mandate, withAttributes(452, { a: "b\u0000c" })),
          caller.create({ ...mandateBody(), subject_reference: "\u0000" }),
          caller.list({ limit: 9, subjectReference: "\u0000" })
        ]
        for (const call of calls) {
          const refused = yield* run(Effect.flip(call as Effect.Effect<unknown, unknown, ProgramPorts>))
          assert.strictEqual((refused as { readonly _tag: string })._tag, "ValidationFailed")
        }
        assert.deepStrictEqual(yield* run(storedJournal(caller.organization.id, mandate)), before)
        assert.lengthOf((yield* run(caller.list({ limit: 9 }))).data, 1)
        assert.lengthOf((yield* run(caller.authorizations({ mandateId: mandate, limit: 9 }))).data, 0)
      })
    )

    it.live(
      "treats names U+FB33 and U+1F600 in either order as one input, stored or not (Cpanel-JSON-XS 248)",
      () =>
        Effect.gen(function* () {
          const first = yield* begin
          const second = yield* begin
          const { caller } = first
          const mandate = yield* first.newMandate()
          const names = ["\ufb33", "\u{1f600}"]
          const bodyWith = (ordered: ReadonlyArray<string>) =>
            proposalBody(460, 1000, {
              proposed_action: {
                action: "card.create",
                payment: { amount: 1000, currency: "EUR" },
                attributes: Object.fromEntries(ordered.map((name) => [name, "x"]))
              }
            })
          const made = yield* first.run(caller.propose(mandate, bodyWith(names), "k"))
          const again = yield* second.run(caller.propose(mandate, bodyWith(names.toReversed()), "k"))
          assert.isTrue(again.replayed)
          assert.strictEqual(again.resource.id, made.resource.id)
          const stored = yield* second.run(caller.readAuthorization(made.resource.id))
          const attributes = stored.proposed_action.attributes ?? {}
          assert.sameMembers(Object.keys(attributes), names)
          const sentBack = {
            ...bodyWith(names),
            proposed_action: stored.proposed_action as unknown as JsonObject
          }
          assert.isTrue((yield* first.run(caller.propose(mandate, sentBack, "k"))).replayed)
          const texts = yield* second.run(storedJournal(caller.organization.id, mandate))
          assert.isTrue(texts.every((text) => verifyEventHash(JSON.parse(text))))
          assert.isTrue(texts.at(-1)?.includes(`"attributes":{"\u{1f600}":"x","\ufb33":"x"}`))
        })
    )

    it.live(
      "makes one mandate from 20 concurrent requests with one key and body in three processes (idempot-js 181)",
      () =>
        Effect.gen(function* () {
          const worlds = yield* Effect.all([begin, begin, begin])
          const { caller, mandateBody, run } = worlds[0]
          const body = mandateBody()
          const answers = yield* Effect.forEach(
            numbers(20),
            (number) => worlds[number % 3]!.run(caller.create(body, "one-key")),
            atOnce
          )
          assert.lengthOf((yield* run(caller.list({ limit: 9 }))).data, 1)
          assert.strictEqual(new Set(answers.map(({ resource }) => resource.id)).size, 1)
          assert.lengthOf(
            answers.filter(({ replayed }) => !replayed),
            1
          )
        })
    )
  }
)
