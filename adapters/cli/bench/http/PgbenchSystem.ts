import { barePairs, bareStreams } from "@svc/store-postgres/bench/BareLoop"
import * as PostgresStore from "@svc/store-postgres/PostgresStore"
import { Effect, Redacted } from "effect"
import { openDatabase } from "../Database.ts"
import type { System } from "./System.ts"

const SCHEMA = "svc"
/** Size of an open reservation's record, which is gone by the time when the others are measured. */
const RESERVATION_BYTES = 300
/** Each run has new sessions, whereas those of the other systems stay: so many are ready within a second. */
const SESSIONS_PER_SECOND = 16

/** The same row work by `pgbench`, at an empty database. */
export const startPgbench = async (
  pgbench: string,
  databaseUrl: string,
  mandates: number,
  sizes: { readonly snapshot: number; readonly event: number; readonly record: number }
): Promise<System> => {
  const query = openDatabase(databaseUrl)
  const rowSizes = { ...sizes, reservation: RESERVATION_BYTES }
  await Effect.runPromise(PostgresStore.migrateServer({ url: Redacted.make(databaseUrl), schema: SCHEMA }))
  await query(bareStreams(SCHEMA, mandates, rowSizes))
  let pairs = 0
  return {
    measure: async ({ connections, from, seconds, to }) => {
      const { allPairs, milliseconds, pairsOfClients } = await barePairs(pgbench, {
        url: databaseUrl,
        schema: SCHEMA,
        clients: connections,
        seconds,
        sizes: rowSizes,
        streams: [from, to - 1],
        warmUpSeconds: 1 + Math.ceil(connections / SESSIONS_PER_SECOND)
      })
      pairs += allPairs
      return {
        pairsPerSecond: milliseconds.length / seconds,
        pairsOfClients,
        milliseconds,
        allPairs,
        serverSeconds: Number.NaN,
        faults: []
      }
    },
    recount: async () => {
      const [row] = (await query(
        `select count(*)::int as count from ${SCHEMA}.authorization_row where state = 'COMMITTED'`
      )) as ReadonlyArray<{ readonly count: number }>
      return row?.count === pairs ? [] : [`${row?.count} rows after ${pairs} pairs`]
    }
  }
}
