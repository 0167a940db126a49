import type { Instant } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { Randomness } from "../ports/Randomness.ts"
import { WebhookStore } from "../ports/WebhookStore.ts"
import { UNIFORM_BYTES, uniformFrom } from "../webhook/DeliverySchedule.ts"
import type { AttemptResult } from "../webhook/WebhookDelivery.ts"
import {
  finishAttempt,
  isSuccess,
  loseAttempt,
  type WebhookDeliveryState
} from "../webhook/WebhookDelivery.ts"
import type { StoredEndpoint, WebhookEndpointState } from "../webhook/WebhookEndpoint.ts"

/** An attempt that has ended, by its delivery as it was when the attempt was opened. */
export interface EndedAttempt {
  readonly delivery: WebhookDeliveryState
  /** `lost` when no result was reported. */
  readonly result: AttemptResult | "lost"
}

const tokenOf = ({ open }: WebhookDeliveryState): string => open?.token ?? ""

const drawFrom = (randomness: Randomness["Service"]) => (): number =>
  uniformFrom(randomness.bytes(UNIFORM_BYTES))

interface Finished {
  readonly endpoint: WebhookEndpointState
  readonly deliveries: ReadonlyArray<{ readonly next: WebhookDeliveryState; readonly token: string }>
}

/** Finishes attempts of an endpoint one after another; those that are no longer open under their token are left out. */
const finishAll = (
  start: WebhookEndpointState,
  ended: ReadonlyArray<EndedAttempt>,
  now: Instant,
  draw: () => number
): Finished => {
  let endpoint = start
  const deliveries: Array<Finished["deliveries"][number]> = []
  for (const { delivery, result } of ended) {
    const token = tokenOf(delivery)
    // What has arrived is not attempted again, so nothing is drawn for it.
    const uniform = result !== "lost" && isSuccess(result.status) ? 0 : draw()
    const both =
      result === "lost"
        ? { endpoint, delivery: loseAttempt(delivery, now, uniform) }
        : finishAttempt({ endpoint, delivery }, { token, result, now, uniform })
    if (both?.delivery === undefined) continue
    endpoint = both.endpoint
    deliveries.push({ next: both.delivery, token })
  }
  return { endpoint, deliveries }
}

/** Logs for the operator that an endpoint was disabled, since its owner receives no more events. */
const logDisabled = (before: WebhookEndpointState, after: WebhookEndpointState): Effect.Effect<void> =>
  before.status === after.status
    ? Effect.void
    : Effect.logWarning("a webhook endpoint is disabled").pipe(
        Effect.annotateLogs({
          organization_id: after.organizationId,
          webhook_endpoint_id: after.id,
          disabled_reason: after.disabledReason ?? null
        })
      )

/**
 * Records the results of attempts of one endpoint, together with its counters, in one write (part 8). If the endpoint was
 * changed concurrently, it is loaded again and the write repeated. Attempts that are no longer open under their token were
 * taken for lost and are dropped.
 */
export const recordEnds = Effect.fn("recordEnds")(function* (
  known: StoredEndpoint,
  ended: ReadonlyArray<EndedAttempt>,
  now: Instant
): Effect.fn.Return<StoredEndpoint, StoreUnavailable, WebhookStore | Randomness> {
  const store = yield* WebhookStore
  const draw = drawFrom(yield* Randomness)
  const place = { organization: known.endpoint.organizationId, endpoint: known.endpoint.id }
  let stored = known
  let open = ended
  let at = now
  for (;;) {
    const { deliveries, endpoint } = finishAll(stored.endpoint, open, at, draw)
    if (deliveries.length === 0) return stored
    const [revision] = yield* store.recordAttempts([
      { organization: place.organization, endpoint, expected: stored.revision, deliveries }
    ])
    if (revision !== undefined) {
      yield* logDisabled(stored.endpoint, endpoint)
      return { endpoint, revision }
    }
    const fresh = yield* store.reload({ ...place, deliveries: open.map(({ delivery }) => delivery.id) })
    if (fresh.stored === undefined) return stored
    const reloadedById = new Map(fresh.deliveries.map((delivery) => [delivery.id, delivery]))
    stored = fresh.stored
    at = fresh.now
    open = open.flatMap(({ delivery, result }) => {
      const current = reloadedById.get(delivery.id)
      return current?.open?.token === tokenOf(delivery) ? [{ delivery: current, result }] : []
    })
  }
})

/**
 * Records how attempts of several endpoints ended in one write. Returns each endpoint as it is then; absent where nothing was
 * recorded because the endpoint was changed or locked concurrently, which is left to `recordEnds`.
 */
export const recordEndsTogether = Effect.fn("recordEndsTogether")(function* (
  groups: ReadonlyArray<{
    readonly known: StoredEndpoint
    readonly ended: ReadonlyArray<EndedAttempt>
    readonly now: Instant
  }>
): Effect.fn.Return<ReadonlyArray<StoredEndpoint | undefined>, StoreUnavailable, WebhookStore | Randomness> {
  const store = yield* WebhookStore
  const draw = drawFrom(yield* Randomness)
  const finished = groups.map(({ ended, known, now }) => finishAll(known.endpoint, ended, now, draw))
  const revisions = yield* store.recordAttempts(
    finished.map(({ deliveries, endpoint }, at) => ({
      organization: endpoint.organizationId,
      endpoint,
      expected: groups[at]!.known.revision,
      deliveries
    }))
  )
  const recorded: Array<StoredEndpoint | undefined> = []
  for (const [at, { endpoint }] of finished.entries()) {
    const revision = revisions[at]
    if (revision !== undefined) yield* logDisabled(groups[at]!.known.endpoint, endpoint)
    recorded.push(revision === undefined ? undefined : { endpoint, revision })
  }
  return recorded
})

/** Expired attempts that are loaded at a time. */
export const EXPIRED_BATCH = 100

/**
 * Ends attempts whose workers are lost (part 8), at most `EXPIRED_BATCH`. Returns how many there were: if as many as that,
 * there may be more.
 */
export const recordLostAttempts: Effect.Effect<number, StoreUnavailable, WebhookStore | Randomness> =
  Effect.gen(function* () {
    const store = yield* WebhookStore
    const { expired, now } = yield* store.expiredAttempts({ limit: EXPIRED_BATCH })
    const groups = [...Map.groupBy(expired, ({ endpoint }) => endpoint.id).values()].map((group) => ({
      known: group[0]!,
      ended: group.map(({ delivery }): EndedAttempt => ({ delivery, result: "lost" })),
      now
    }))
    const recorded = groups.length > 1 ? yield* recordEndsTogether(groups) : []
    for (const [at, { ended, known }] of groups.entries()) {
      if (recorded[at] === undefined) yield* recordEnds(known, ended, now)
    }
    return expired.length
  })
