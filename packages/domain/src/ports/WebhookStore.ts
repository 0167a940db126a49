import type { Instant, Nanos } from "@svc/protocol/Timestamp"
import { Context, Data, type Effect } from "effect"
import type { Spread, StoredDelivery, WebhookDeliveryState } from "../webhook/WebhookDelivery.ts"
import type { StoredEndpoint, WebhookEndpointState } from "../webhook/WebhookEndpoint.ts"
import type { ClaimHolder, ClaimTaken, Stale, StoreUnavailable, UniqueClaim } from "./MandateStore.ts"

/** The organization has as many endpoints that are not deleted as it may. */
export class EndpointLimitReached extends Data.TaggedError("EndpointLimitReached")<Record<never, never>> {}

/** A delivery that a worker has leased, and its endpoint: the attempt is open already. */
export interface LeasedDelivery extends StoredDelivery, StoredEndpoint {}

/** An endpoint after some of its attempts have ended, and those deliveries. */
export interface EndedAttempts {
  readonly organization: string
  readonly endpoint: WebhookEndpointState
  readonly expected: number
  readonly deliveries: ReadonlyArray<{
    readonly next: WebhookDeliveryState
    /** That of the attempt that ended. */
    readonly token: string
  }>
}

/**
 * Webhook endpoints and their deliveries (part 8). `MandateStore.append` records the deliveries of an event with the
 * event (`deliveryIdOf`, `pendingDelivery`): one for each endpoint that wants its type and is active, or disabled with
 * something left of what is kept for it (`isKept`). Once nothing is, the store's clock at the first event is its `missedSince`, until a
 * reactivation; a deletion leaves it. What is kept is not part of an endpoint: a store has it beside, and asks
 * `keptDeliveriesAfter` of it wherever it replaces an endpoint, in `changeEndpoint` and in `recordAttempts`.
 *
 * What is decided of endpoints and deliveries is decided by the functions of `webhook/`. A store that selects or changes
 * many rows in one statement filters by the same rules, on the values that those functions gave it.
 */
export class WebhookStore extends Context.Service<
  WebhookStore,
  {
    /** An endpoint of the organization, deleted ones included, the holder of an idempotency key, and the store's clock. */
    readonly loadEndpoint: (query: {
      readonly organization: string
      readonly endpoint?: string
      readonly idempotencyKey?: string
    }) => Effect.Effect<
      { readonly now: Instant; readonly held?: ClaimHolder; readonly stored?: StoredEndpoint },
      StoreUnavailable
    >
    /** Endpoints that are not deleted, newest first. */
    readonly listEndpoints: (
      organization: string
    ) => Effect.Effect<ReadonlyArray<StoredEndpoint>, StoreUnavailable>
    /**
     * Records a new endpoint (`expected` is `"absent"`) or a change of one, and claims, all or nothing. Refusals in this
     * order: `Stale`, `ClaimTaken`, `EndpointLimitReached` (for a new one when `limit` are not deleted, also when several
     * come at once). `spread` is given with a reactivation: the next attempts of what
     * waits are moved as by `afterReactivation`.
     */
    readonly changeEndpoint: (change: {
      readonly organization: string
      readonly expected: "absent" | number
      readonly next: WebhookEndpointState
      readonly limit: number
      readonly claims: ReadonlyArray<UniqueClaim>
      readonly spread?: Spread
    }) => Effect.Effect<
      { readonly revision: number },
      Stale | ClaimTaken | EndpointLimitReached | StoreUnavailable
    >
    /** A delivery of an endpoint, beside the endpoint. Either is absent when the organization has no such thing. */
    readonly loadDelivery: (query: {
      readonly organization: string
      readonly endpoint?: string
      readonly delivery?: string
      readonly idempotencyKey?: string
    }) => Effect.Effect<
      {
        readonly now: Instant
        readonly held?: ClaimHolder
        readonly stored?: StoredEndpoint
        readonly delivery?: StoredDelivery
      },
      StoreUnavailable
    >
    /** Deliveries of an endpoint, newest first by identifier; one more than `limit` when there are more. */
    readonly listDeliveries: (query: {
      readonly organization: string
      readonly endpoint: string
      /** Exclusive. */
      readonly after?: string
      readonly limit: number
    }) => Effect.Effect<
      { readonly stored?: StoredEndpoint; readonly deliveries: ReadonlyArray<WebhookDeliveryState> },
      StoreUnavailable
    >
    /** Adds a delivery that no append made, if the endpoint is active in this write: `Stale` otherwise. */
    readonly addDelivery: (addition: {
      readonly organization: string
      readonly delivery: WebhookDeliveryState
      readonly body: string
      readonly claims: ReadonlyArray<UniqueClaim>
    }) => Effect.Effect<void, Stale | ClaimTaken | StoreUnavailable>
    /**
     * Leases deliveries that are due at the store's clock (`isDue`), over all organizations: opens an attempt of each
     * (`beginAttempt`) that lasts for `lasts`, and returns them.
     *
     * - At most `limit` deliveries are leased.
     * - At most `perEndpoint` attempts of an endpoint are under way, or what `bounds` says of its identifier.
     * - At most `perOrganization` attempts of an organization are under way, those of deleted endpoints included.
     * - Each endpoint may have up to `assured` attempts under way even if its organization has reached `perOrganization`.
     *
     * Endpoints take turns: those with the fewest attempts under way come first, and among them those whose deliveries have
     * waited longest. Concurrent callers get different deliveries and do not wait for each other. A delivery that this
     * release cannot read is left out and holds up no other.
     */
    readonly leaseDue: (query: {
      readonly token: string
      readonly limit: number
      readonly perEndpoint: number
      readonly bounds?: ReadonlyMap<string, number>
      readonly assured: number
      readonly perOrganization: number
      readonly lasts: Nanos
    }) => Effect.Effect<ReadonlyArray<LeasedDelivery>, StoreUnavailable>
    /**
     * Deliveries whose open attempt has expired, over all organizations, at most `limit`, and the store's clock. Those
     * that this release cannot read are left out.
     */
    readonly expiredAttempts: (query: { readonly limit: number }) => Effect.Effect<
      {
        readonly now: Instant
        readonly expired: ReadonlyArray<StoredEndpoint & { readonly delivery: WebhookDeliveryState }>
      },
      StoreUnavailable
    >
    /**
     * Records the ends of attempts together with their endpoints, each endpoint (given once) by itself and all or nothing.
     * Returns the new revision of each, or `undefined` if the endpoint has another revision or one of the attempts is no
     * longer open under its token. With several endpoints, also if another session locks the endpoint: only a single one
     * is waited for.
     */
    readonly recordAttempts: (
      ended: ReadonlyArray<EndedAttempts>
    ) => Effect.Effect<ReadonlyArray<number | undefined>, StoreUnavailable>
    /** The present state of the endpoint and of those deliveries that exist, and the store's clock. */
    readonly reload: (query: {
      readonly organization: string
      readonly endpoint: string
      readonly deliveries: ReadonlyArray<string>
    }) => Effect.Effect<
      {
        readonly now: Instant
        readonly stored?: StoredEndpoint
        readonly deliveries: ReadonlyArray<WebhookDeliveryState>
      },
      StoreUnavailable
    >
  }
>()("@svc/domain/ports/WebhookStore") {}
