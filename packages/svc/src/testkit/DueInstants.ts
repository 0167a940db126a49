import { MandateStore, type StreamChange } from "@svc/domain/ports/MandateStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import type { Instant } from "@svc/protocol/Timestamp"
import { Effect, Layer } from "effect"

/** Entries of a page of deliveries. */
const PAGE = 1000

const earliest = (instants: Iterable<Instant | undefined>, after: Instant): Instant | undefined => {
  let first: Instant | undefined
  for (const instant of instants)
    if (instant !== undefined && instant > after && (first === undefined || instant < first)) first = instant
  return first
}

/** When the next attempts of an organization's pending deliveries are due. */
const attemptsOf = Effect.fnUntraced(function* (organization: string) {
  const store = yield* WebhookStore
  const instants: Array<Instant | undefined> = []
  for (const { endpoint } of yield* store.listEndpoints(organization)) {
    if (endpoint.status !== "active") continue
    const query = { organization, endpoint: endpoint.id, limit: PAGE }
    for (let after: string | undefined; ; ) {
      const { deliveries } = yield* store.listDeliveries({
        ...query,
        ...(after === undefined ? {} : { after })
      })
      const page = deliveries.slice(0, PAGE)
      for (const { nextAttemptAt, state } of page) if (state === "pending") instants.push(nextAttemptAt)
      after = page.at(-1)?.id
      if (deliveries.length <= PAGE) break
    }
  }
  return instants
})

/** Knows when something falls due in a store, as no port tells: from the changes that go through it. */
export const makeDueInstants = (organizations: Iterable<string>) => {
  const known = new Set(organizations)
  const nextDue = new Map<string, Instant | undefined>()
  const appended = (change: StreamChange): void => {
    known.add(change.organization)
    nextDue.set(change.mandate, change.nextDue)
  }
  return {
    organizations: (): Iterable<string> => known,
    /** Notes what is appended to the store. */
    watching: Layer.effect(
      MandateStore,
      Effect.map(MandateStore, (store) =>
        MandateStore.of({
          ...store,
          append: (change) => Effect.tap(store.append(change), () => Effect.sync(() => appended(change)))
        })
      )
    ),
    /** The first instant after the given one at which a transition or an attempt is due. */
    after: (instant: Instant) =>
      Effect.gen(function* () {
        const attempts = yield* Effect.forEach([...known], attemptsOf)
        return earliest([...nextDue.values(), ...attempts.flat()], instant)
      })
  }
}
