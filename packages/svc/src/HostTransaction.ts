import { SvcError } from "@svc/client"
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

/** Runs one call of a transaction. */
export type CallWithin = <A>(call: () => Promise<A>) => Promise<A>

/** A pool of `pg` gives each statement to another connection, of which at most one is in the transaction. */
const isPool = (client: object): boolean => "totalCount" in client && "idleCount" in client

const checkClient = (client: unknown): void => {
  if (typeof client !== "object" || client === null || typeof (client as HostClient).query !== "function")
    throw new TypeError(
      "transaction: the first argument must be a connection, such as pool.connect() resolves with."
    )
  if (isPool(client))
    throw new TypeError(
      "transaction: it was given a pool, whose statements go to any of its connections: begin on one of pool.connect(), and give that."
    )
}

const ended = () =>
  new SvcError({
    code: "invalid_argument",
    message:
      "the run of this transaction has ended, and its connection may serve somebody else by now: await every call within it"
  })

/** Calls until the run ends, and what of them has not ended by then. */
const makeCalls = () => {
  const underWay = new Set<Promise<unknown>>()
  let isOver = false
  const call: CallWithin = async (start) => {
    if (isOver) throw ended()
    const started = start()
    underWay.add(started)
    try {
      return await started
    } finally {
      underWay.delete(started)
    }
  }
  return {
    call,
    end: async () => {
      isOver = true
      await Promise.allSettled(underWay)
    }
  }
}

/**
 * Runs a function with the storage ports of a host's transaction. Its calls end with it: those that are under way are waited
 * for, since the host then commits or rolls back, and later ones are refused. The ports bring turns of their own, so that
 * commands are combined among themselves alone: one of another caller, combined with them, would be answered before the host
 * commits.
 */
export const withinTransaction = async <A>(
  runtime: ServiceRuntime,
  store: Store,
  client: HostClient,
  run: (ports: Context.Context<StoragePorts>, call: CallWithin) => Promise<A>
): Promise<A> => {
  checkClient(client)
  const within = store[StoreWithin]
  if (within === undefined)
    throw new TypeError("transaction: the store of this service is not a Postgres server.")
  const scope = Effect.runSync(Scope.make())
  const calls = makeCalls()
  try {
    const ports = await runtime.run(Effect.exit(Scope.provide(within(client), scope)))
    if (Exit.isFailure(ports)) throw errorOf(ports.cause)
    return await run(ports.value, calls.call)
  } finally {
    await calls.end()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
