import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** Webhook deliveries that wait, for an operator who gives them up. No request comes here. */
export class WaitingDeliveries extends Context.Service<
  WaitingDeliveries,
  {
    /** How many deliveries of an endpoint wait for an attempt, and how many have one under way. */
    readonly count: (query: {
      readonly organization: string
      readonly endpoint: string
    }) => Effect.Effect<{ readonly waiting: number; readonly underWay: number }, StoreUnavailable>
    /**
     * Gives up at most `limit` deliveries that wait, the oldest first: each is exhausted with the attempts that it has had, as after
     * its last one, but no counter of the endpoint moves. Returns how many. Those with an attempt under way are left to it.
     */
    readonly giveUp: (query: {
      readonly organization: string
      readonly endpoint: string
      readonly limit: number
    }) => Effect.Effect<number, StoreUnavailable>
  }
>()("@svc/domain/ports/WaitingDeliveries") {}
