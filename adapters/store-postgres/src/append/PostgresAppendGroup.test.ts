import { assert, layer } from "@effect/vitest"
import { MandateStore, type StreamChange } from "@svc/domain/ports/MandateStore"
import {
  claimOf,
  createdChange,
  newAuthorization,
  newDigest,
  reservingChange
} from "@svc/testkit/StoreFixtures"
import { newPlace, recordMandate, storeNow } from "@svc/testkit/store-contract/StoreUnderTest"
import { Context, Effect, Exit, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { preparedPglite } from "../../test/PreparedPglite.ts"
import type { PostgresClients } from "../connection/PostgresClients.ts"
import * as PgliteStore from "../PgliteStore.ts"
import { portsOf } from "../PostgresStore.ts"
import type { GroupOutcome } from "./AppendLanes.ts"
import { makeAppendGroup } from "./PostgresAppendGroup.ts"

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

class Clients extends Context.Service<Clients, PostgresClients>()("@svc/store-postgres/append/Clients") {}

const database = Layer.effectContext(
  Effect.gen(function* () {
    const clients = yield* PgliteStore.connect({ folder: yield* preparedPglite })
    return Context.add(yield* portsOf(clients), Clients, clients)
  })
).pipe(Layer.provide(Reactivity.layer))

layer(database, { excludeTestServices: true, timeout: "120 seconds" })(
  "one statement for many changes",
  (it) => {
    it.effect("records each change that may be recorded, and leaves no trace of the others", () =>
      Effect.gen(function* () {
        const clients = yield* Clients
        const together = makeAppendGroup(clients)
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

    it.effect("records none if one of them violates a constraint, so that each is tried alone", () =>
      Effect.gen(function* () {
        const clients = yield* Clients
        const together = makeAppendGroup(clients)
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
  }
)
