import { assert, layer } from "@effect/vitest"
import type { AuthorizationState } from "@svc/domain/mandate/MandateState"
import { MandateStore, type StreamChange } from "@svc/domain/ports/MandateStore"
import {
  type Current,
  claimOf,
  createdChange,
  followingChange,
  newAuthorization,
  newDigest,
  reservedFact,
  reservingChange,
  revokedFact
} from "@svc/testkit/StoreFixtures"
import { loadCurrent, newPlace, recordMandate, storeNow } from "@svc/testkit/store-contract/StoreUnderTest"
import { change as changeEndpoint, newEndpoint } from "@svc/testkit/store-contract/WebhooksUnderTest"
import { Context, Effect, Exit, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import * as fc from "fast-check"
import { preparedPglite } from "../../test/PreparedPglite.ts"
import type { PostgresClients } from "../connection/PostgresClients.ts"
import { inSchema } from "../Migrations.ts"
import * as PgliteStore from "../PgliteStore.ts"
import { portsOf } from "../PostgresStore.ts"
import type { GroupOutcome } from "./AppendLanes.ts"
import { makeAppend } from "./PostgresAppend.ts"
import { makeAppendGroup } from "./PostgresAppendGroup.ts"
import { writeChange } from "./WrittenChange.ts"

const nameOf = (outcome: GroupOutcome): string => {
  if (outcome === "alone") return outcome
  return Exit.isSuccess(outcome) ? `revision ${outcome.value.revision}` : String(outcome.cause)
}

const countRows = ({ schema, writes }: PostgresClients, organization: string) =>
  Effect.map(
    writes.unsafe<Readonly<Record<string, bigint>>>(
      `select ${["stream", "event", "authorization_row", "claim"]
        .map((table) => `(select count(*) from ${schema}.${table} where organization = $1::text) as ${table}`)
        .join(", ")}`,
      [organization]
    ),
    ([row]) => Object.fromEntries(Object.entries(row!).map(([table, count]) => [table, Number(count)]))
  )

const appendTogether = (clients: PostgresClients) => {
  const together = makeAppendGroup(clients)
  return (changes: ReadonlyArray<StreamChange>) => together(changes.map(writeChange))
}

class Clients extends Context.Service<Clients, PostgresClients>()("@svc/store-postgres/append/Clients") {}

/** Everything that an append leaves, but for the clock that read it and the transaction that recorded it. */
const RECORDED = [
  "select to_jsonb(t) from {schema}.stream t",
  "select to_jsonb(t) - 'position' from {schema}.event t",
  "select to_jsonb(t) from {schema}.authorization_row t",
  "select to_jsonb(t) from {schema}.closed_authorization t",
  "select to_jsonb(t) from {schema}.claim t",
  "select to_jsonb(t) - 'created_at' - 'next_attempt_at' from {schema}.webhook_delivery t"
]

const recordedBy = ({ schema, writes }: PostgresClients, organizations: ReadonlyArray<string>) =>
  Effect.forEach(RECORDED, (rows) =>
    Effect.map(
      writes.unsafe<{ readonly line: string }>(
        `select line::text from (${inSchema(rows, schema)} where organization = any ($1::text[])) r (line) order by 1`,
        [organizations]
      ),
      (found) => found.map(({ line }) => line)
    )
  )

const FAULTS = ["none", "none", "none", "stale", "late", "claim", "head", "stray"] as const

/** Groups that are tried. */
const GROUPS = 20

/** One change of a group. */
interface Plan {
  /** Of two organizations. The first has a webhook endpoint. */
  readonly organization: number
  readonly isNew: boolean
  readonly opened: number
  readonly closed: number
  readonly fault: (typeof FAULTS)[number]
}

const plans: fc.Arbitrary<ReadonlyArray<Plan>> = fc.array(
  fc.record({
    organization: fc.nat({ max: 1 }),
    isNew: fc.boolean(),
    opened: fc.nat({ max: 3 }),
    closed: fc.nat({ max: 2 }),
    fault: fc.constantFrom(...FAULTS)
  }),
  { minLength: 2, maxLength: 7 }
)

/** Authorizations that a mandate has open before its change. */
const OPEN_BEFORE = 2

/** The change of a plan to a mandate with open authorizations. `taken` is the name of a claim that another has. */
const plannedChange = (
  { closed, fault, isNew, opened }: Plan,
  current: Current,
  open: ReadonlyArray<AuthorizationState>,
  taken: string
): StreamChange => {
  const { now, stream } = current
  const parts = {
    claims: [
      ...Array.from({ length: opened }, () => claimOf("commitment", newDigest())),
      claimOf("idempotency_key", fault === "claim" ? taken : newDigest())
    ],
    ...(fault === "late" ? { recordBefore: now - 1n } : {})
  }
  if (isNew) return createdChange(newPlace({ organization: stream.organization }), now, parts)
  const order = stream.state.mandate.authorizationCount
  const added = Array.from({ length: opened }, (_, at) => newAuthorization(order + at + 1, now))
  const ended = open.slice(0, closed).map((one): AuthorizationState => ({ ...one, state: "COMMITTED" }))
  const change = followingChange(
    current,
    [...added.map((authorization) => reservedFact(authorization, now)), ...ended.map(() => revokedFact(now))],
    { authorizations: [...added, ...ended], ...parts }
  )
  switch (fault) {
    case "stale":
      return { ...change, expected: stream.revision + 1 }
    case "head":
      return { ...change, headBefore: { ...stream.head, occurredAt: stream.head.occurredAt - 1n } }
    case "stray":
      return { ...change, authorizations: [...added, newAuthorization(1, now)] }
    default:
      return change
  }
}

const openDatabase = Effect.gen(function* () {
  const clients = yield* PgliteStore.connect({ folder: yield* preparedPglite })
  return { clients, ports: yield* portsOf(clients) }
}).pipe(Effect.provide(Reactivity.layer))

const database = Layer.effectContext(
  Effect.map(openDatabase, ({ clients, ports }) => Context.add(ports, Clients, clients))
)

layer(database, { excludeTestServices: true, timeout: "120 seconds" })(
  "one statement for many changes",
  (it) => {
    it.effect("records each change that may be recorded, and leaves no trace of the others", () =>
      Effect.gen(function* () {
        const clients = yield* Clients
        const together = appendTogether(clients)
        const store = yield* MandateStore
        const { organization } = newPlace()
        const now = yield* storeNow
        const taken = newDigest()
        yield* store.append(
          createdChange(newPlace({ organization }), now, { claims: [claimOf("commitment", taken)] })
        )
        const currents = yield* Effect.replicateEffect(recordMandate({ organization }), 6)
        const reserving = (at: number, parts: Partial<StreamChange> = {}) =>
          reservingChange(currents[at]!, [newAuthorization(1, now)], {
            claims: [claimOf("commitment", newDigest())],
            ...parts
          })
        const before = yield* countRows(clients, organization)
        const beyond = reserving(4)
        const stray = reserving(5)
        const outcomes = yield* together([
          reserving(0),
          reserving(1, { expected: 9 }),
          reserving(2, { recordBefore: now }),
          reserving(3, {
            claims: [newDigest(), taken, newDigest()].map((name) => claimOf("commitment", name))
          }),
          createdChange(newPlace({ organization }), now, {
            claims: [claimOf("idempotency_key", newDigest())]
          }),
          createdChange(newPlace({ organization }), now, { claims: [claimOf("commitment", `${taken} too`)] }),
          createdChange(newPlace({ organization }), now, { recordBefore: now }),
          { ...beyond, headAfter: { ...beyond.headAfter, bytes: beyond.headAfter.bytes + 1 } },
          { ...stray, mandateState: currents[0]!.stream.state.mandate }
        ])
        assert.deepStrictEqual(
          outcomes.map(nameOf).map((name) => name.match(/revision \d|Stale|OutOfTime|alone/u)?.[0]),
          [
            "revision 2",
            "Stale",
            "OutOfTime",
            "alone",
            "revision 1",
            "revision 1",
            "OutOfTime",
            "alone",
            "alone"
          ]
        )
        assert.deepStrictEqual(yield* countRows(clients, organization), {
          stream: before.stream! + 2,
          event: before.event! + 3,
          authorization_row: before.authorization_row! + 1,
          claim: before.claim! + 3
        })
      })
    )

    it.effect("tells claims of organizations apart whose names read alike together", () =>
      Effect.gen(function* () {
        const together = appendTogether(yield* Clients)
        const store = yield* MandateStore
        const now = yield* storeNow
        const { organization } = newPlace()
        const other = `${organization} commitment`
        const claimed = (owner: string, name: string) =>
          createdChange(newPlace({ organization: owner }), now, { claims: [claimOf("commitment", name)] })
        const held = claimed(organization, "commitment b")
        yield* store.append(held)
        const outcomes = yield* together([claimed(organization, "commitment b"), claimed(other, "b")])
        assert.deepStrictEqual(outcomes.map(nameOf), ["alone", "revision 1"])
        const { held: holders } = yield* store.load({
          organization,
          claims: [{ kind: "commitment", name: "commitment b" }]
        })
        assert.deepStrictEqual(
          holders.map(({ resource }) => resource),
          held.claims.map(({ resource }) => resource)
        )
      })
    )

    it.effect("records none if one of them violates a constraint, so that each is tried alone", () =>
      Effect.gen(function* () {
        const clients = yield* Clients
        const together = appendTogether(clients)
        const organization = newPlace().organization
        const [one, other] = yield* Effect.replicateEffect(recordMandate({ organization }), 2)
        const authorization = newAuthorization(1, one!.now)
        yield* (yield* MandateStore).append(reservingChange(one!, [authorization]))
        const good = createdChange(newPlace({ organization }), one!.now)
        const before = yield* countRows(clients, organization)
        const stolen = reservingChange(other!, [authorization])
        assert.deepStrictEqual(yield* together([good, stolen]), ["alone", "alone"])
        assert.deepStrictEqual(yield* countRows(clients, organization), before)
        assert.deepStrictEqual((yield* together([good])).map(nameOf), ["revision 1"])
      })
    )

    it.effect(
      "records of each change what it records alone",
      () =>
        Effect.gen(function* () {
          const alone = yield* openDatabase
          const shared = yield* openDatabase
          const both = [alone, shared] as const
          const [appendAlone, appendAfterwards] = [makeAppend(alone.clients), makeAppend(shared.clients)]
          const together = appendTogether(shared.clients)
          const run = (planned: ReadonlyArray<Plan>) =>
            Effect.gen(function* () {
              const organizations = [newPlace().organization, newPlace().organization]
              const taken = newDigest()
              const now = yield* Effect.provide(storeNow, alone.ports)
              const endpoint = newEndpoint(organizations[0]!, now)
              for (const { ports } of both) {
                yield* Effect.provide(changeEndpoint(endpoint, { expected: "absent" }), ports)
              }
              const recorded = (change: StreamChange) =>
                Effect.andThen(appendAlone(change), appendAfterwards(change))
              for (const organization of organizations) {
                const claims = [claimOf("idempotency_key", taken)]
                yield* recorded(createdChange(newPlace({ organization }), now, { claims }))
              }
              const changes: Array<StreamChange> = []
              for (const plan of planned) {
                const created = createdChange(
                  newPlace({ organization: organizations[plan.organization]! }),
                  now
                )
                yield* recorded(created)
                const first = yield* Effect.provide(loadCurrent(created), alone.ports)
                const open = Array.from({ length: OPEN_BEFORE }, (_, at) => newAuthorization(at + 1, now))
                yield* recorded(reservingChange(first, open))
                const current = yield* Effect.provide(loadCurrent(created), alone.ports)
                changes.push(plannedChange(plan, current, open, taken))
              }
              const singly = yield* Effect.forEach(changes, (change) => Effect.exit(appendAlone(change)))
              const grouped = yield* Effect.forEach(yield* together(changes), (outcome, at) =>
                outcome === "alone" ? Effect.exit(appendAfterwards(changes[at]!)) : Effect.succeed(outcome)
              )
              assert.deepStrictEqual(grouped.map(String), singly.map(String))
              assert.deepStrictEqual(
                yield* recordedBy(shared.clients, organizations),
                yield* recordedBy(alone.clients, organizations)
              )
            })
          const context = yield* Effect.context<never>()
          yield* Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(plans, (planned) => Effect.runPromiseWith(context)(run(planned))),
              {
                numRuns: GROUPS
              }
            )
          )
        }),
      { timeout: 120_000 }
    )
  }
)
