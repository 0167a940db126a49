import type { SvcError } from "@svc/client"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import type { HostClient } from "@svc/store-postgres/connection/HostClient"
import { HostSessionUnsuitable } from "@svc/store-postgres/HostStore"
import { Cause, type Context, Effect, Exit, Option, Scope } from "effect"
import type { ServiceRuntime } from "./ServiceRuntime.ts"
import { type Store, StoreWithin } from "./Store.ts"
import { svcErrorOf } from "./SvcError.ts"

/** The error of a transaction that the service cannot work in. */
const errorOf = (cause: Cause.Cause<unknown>): TypeError | SvcError => {
  const fault = Option.getOrUndefined(Cause.findErrorOption(cause))
  return fault instanceof HostSessionUnsuitable
    ? new TypeError(`transaction: ${fault.detail}.`)
    : svcErrorOf({ code: "store_unavailable" })
}

/**
 * Runs a function with the storage ports of a host's transaction. They bring turns of their own, so that its commands are
 * combined among themselves alone: one of another caller, combined with them, would be answered before the host commits.
 */
export const withinTransaction = async <A>(
  runtime: ServiceRuntime,
  store: Store,
  client: HostClient,
  run: (ports: Context.Context<StoragePorts>) => Promise<A>
): Promise<A> => {
  const within = store[StoreWithin]
  if (within === undefined)
    throw new TypeError("transaction: the store of this service is not a Postgres server.")
  const scope = Effect.runSync(Scope.make())
  try {
    const ports = await runtime.run(Effect.exit(Scope.provide(within(client), scope)))
    if (Exit.isFailure(ports)) throw errorOf(ports.cause)
    return await run(ports.value)
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
