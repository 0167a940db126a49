import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"

/** Sends statements to a database; for work around what is measured. */
export const openDatabase = (
  url: string
): ((text: string, parameters?: ReadonlyArray<unknown>) => Promise<ReadonlyArray<object>>) => {
  const runtime = ManagedRuntime.make(
    Layer.provide(
      Layer.effect(PgClient.PgClient, PgClient.make({ url: Redacted.make(url), maxConnections: 4 })),
      Reactivity.layer
    )
  )
  return (text, parameters = []) =>
    runtime.runPromise(
      Effect.flatMap(PgClient.PgClient, (client) => client.unsafe<object>(text, [...parameters]))
    )
}
