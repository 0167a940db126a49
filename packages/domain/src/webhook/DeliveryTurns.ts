import type { Instant } from "@svc/protocol/Timestamp"
import { isDue, type WebhookDeliveryState } from "./WebhookDelivery.ts"
import type { WebhookEndpointState } from "./WebhookEndpoint.ts"

/** An endpoint, and its deliveries that are pending. */
export interface WaitingEndpoint {
  readonly endpoint: WebhookEndpointState
  readonly waiting: ReadonlyArray<WebhookDeliveryState>
}

/** How many attempts may be under way. */
export interface AttemptBounds {
  readonly limit: number
  readonly perEndpoint: number
  /** Per endpoint, by its identifier. */
  readonly bounds?: ReadonlyMap<string, number>
  /** What each endpoint may have even if its organization has reached `perOrganization`. */
  readonly assured: number
  readonly perOrganization: number
}

/** A delivery whose attempt may begin, and where it is in the line of its endpoint. */
interface Turn<Place extends WaitingEndpoint> {
  readonly place: Place
  readonly delivery: WebhookDeliveryState
  readonly turn: number
}

const since = ({ createdAt, nextAttemptAt }: WebhookDeliveryState): Instant => nextAttemptAt ?? createdAt

const bySince = (one: WebhookDeliveryState, other: WebhookDeliveryState): number =>
  since(one) < since(other) ? -1 : since(one) > since(other) ? 1 : 0

const inTurns = (one: Turn<WaitingEndpoint>, other: Turn<WaitingEndpoint>): number =>
  one.turn - other.turn || bySince(one.delivery, other.delivery)

const underWay = ({ waiting }: WaitingEndpoint): number =>
  waiting.filter(({ open }) => open !== undefined).length

const turnsOf = <Place extends WaitingEndpoint>(
  place: Place,
  { bounds, perEndpoint }: AttemptBounds,
  now: Instant
): ReadonlyArray<Turn<Place>> => {
  const busy = underWay(place)
  const room = Math.max(0, (bounds?.get(place.endpoint.id) ?? perEndpoint) - busy)
  return place.waiting
    .filter((delivery) => isDue(delivery, place.endpoint, now))
    .sort(bySince)
    .slice(0, room)
    .map((delivery, at) => ({ place, delivery, turn: busy + at }))
}

/**
 * The deliveries that are leased next (part 8), for a store that has those that wait at hand: endpoints take turns, those with
 * the fewest attempts under way first, and among them those whose deliveries have waited longest.
 */
export const deliveriesInTurn = <Place extends WaitingEndpoint>(
  organizations: ReadonlyArray<ReadonlyArray<Place>>,
  query: AttemptBounds,
  now: Instant
): ReadonlyArray<{ readonly place: Place; readonly delivery: WebhookDeliveryState }> =>
  organizations
    .flatMap((places) => {
      const busy = places.reduce((sum, place) => sum + underWay(place), 0)
      return places
        .flatMap((place) => turnsOf(place, query, now))
        .sort(inTurns)
        .filter(({ turn }, at) => turn < query.assured || busy + at < query.perOrganization)
    })
    .sort(inTurns)
    .slice(0, query.limit)
