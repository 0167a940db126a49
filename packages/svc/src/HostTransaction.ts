import { SvcError } from "@svc/client"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import type { HostClient } from "@svc/store-postgres/connection/HostClient"
import { HostSessionUnsuitable } from "@svc/store-postgres/HostStore"
import { Cause, type Context, Data, type Duration, Effect, Exit, Option, Scope } from "effect"
import { notOpenError } from "./NotOpen.ts"
import type { RunEffect } from "./ServiceRuntime.ts"
import { type Store, StoreWithin } from "./Store.ts"
import { svcErrorOf } from "./SvcError.ts"

/** Longest that the checks of a transaction may take: as long as a call. */
export const CHECKS_TIMEOUT: Duration.Input = "10 seconds"

/** The host's connection has not answered the checks of its transaction in time. */
class ConnectionSilent extends Data.TaggedError("ConnectionSilent") {}

/** The error of a transaction that the service cannot work in. */
const errorOf = (cause: Cause.Cause<unknown>): TypeError | SvcError => {
  const fault = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (fault instanceof ConnectionSilent)
    return svcErrorOf({
      code: "store_unavailable",
      detail: `The connection of the transaction has not answered for ${CHECKS_TIMEOUT}.`
    })
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

/** The ports within a transaction, once the connection is found fit for them. */
const portsOf = async (
  { client, runEffect, store }: HostTransaction,
  scope: Scope.Scope
): Promise<Context.Context<StoragePorts>> => {
  checkClient(client)
  const within = store[StoreWithin]
  if (within === undefined)
    throw new TypeError("transaction: the store of this service is not a Postgres server.")
  const checked = Effect.timeoutOrElse(Scope.provide(within(client), scope), {
    duration: CHECKS_TIMEOUT,
    orElse: () => Effect.fail(new ConnectionSilent())
  })
  const ports = await runEffect(Effect.exit(checked)).catch((fault: unknown) => {
    throw notOpenError(fault)
  })
  if (Exit.isFailure(ports)) throw errorOf(ports.cause)
  return ports.value
}

/** What runs within a transaction of the host's. */
export interface HostTransaction {
  readonly store: Store
  /** The connection on which the host has begun it. */
  readonly client: HostClient
  readonly runEffect: RunEffect
}

/**
 * Runs a function with the storage ports of a host's transaction. Its calls end with it: those that are under way are waited
 * for, since the host then commits or rolls back, and later ones are refused. The ports bring turns of their own, so that
 * commands are combined among themselves alone: one of another caller, combined with them, would be answered before the host
 * commits.
 */
export const withinTransaction = async <A>(
  transaction: HostTransaction,
  run: (ports: Context.Context<StoragePorts>, call: CallWithin) => Promise<A>
): Promise<A> => {
  const scope = Effect.runSync(Scope.make())
  const calls = makeCalls()
  try {
    return await run(await portsOf(transaction, scope), calls.call)
  } finally {
    await calls.end()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
