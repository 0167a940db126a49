import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"

/** Uses a client of its own on a server, which is closed afterwards. */
export const withClient = <A, E, R>(url: string, use: (sql: PgClient.PgClient) => Effect.Effect<A, E, R>) =>
  Effect.scoped(Effect.flatMap(PgClient.make({ url: Redacted.make(url) }), use)).pipe(
    Effect.provide(Reactivity.layer)
  )
