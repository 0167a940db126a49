import type { JournalFact } from "@svc/domain/mandate/JournalFact"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { JournalEventType } from "@svc/protocol/Journal"
import { formatNanos, type Instant } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { createdChange, followingChange, newIdentifier } from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { loadCurrent, newPlace, type StoreIt, storeNow } from "./StoreUnderTest.ts"
import { deliveriesOf, register } from "./WebhooksUnderTest.ts"

/** One fact of each type that can follow `mandate.created`. What they say is nothing to a store. */
const everythingAt = (at: Instant): ReadonlyArray<JournalFact> =>
  JournalEventType.literals
    .filter((type) => type !== "mandate.created")
    .map(
      (type) =>
        ({
          type,
          occurred_at: formatNanos(at),
          data: {},
          ...(type.startsWith("authorization.") ? { authorization_id: newIdentifier("aut_") } : {})
        }) as unknown as JournalFact
    )

/** Records one event of each type, and gives the bodies that their deliveries must have, by event. */
const recordEverything = Effect.fn("recordEverything")(function* (organization: string) {
  const store = yield* MandateStore
  const made = createdChange(newPlace({ organization }), yield* storeNow)
  yield* store.append(made)
  const current = yield* loadCurrent(made)
  const followed = followingChange(current, everythingAt(current.now))
  // A store that derives the body itself, from other data of the event, would make a different one.
  const events = followed.events.map((event, index) =>
    index % 2 === 0
      ? event
      : { ...event, notification: `{"of":"${event.id}","said":"so \\"be\\" it\u2028 \u00e9\ud83d\ude00"}` }
  )
  yield* store.append({ ...followed, events })
  return [...made.events, ...events].map(({ id, notification }) => [id, notification] as const)
})

export const notificationContract = (it: StoreIt): void => {
  it.describe("the deliveries of an event", () => {
    it.effect("have its notification as their body, byte for byte, whatever its type", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        const bodies = new Map(yield* recordEverything(organization))
        const deliveries = yield* deliveriesOf(endpoint)
        assert.deepStrictEqual(
          new Set(deliveries.map(({ eventType }) => eventType)),
          new Set(JournalEventType.literals)
        )
        const kept = yield* Effect.forEach(deliveries, ({ eventId, id }) =>
          Effect.map(
            store.loadDelivery({ organization, endpoint: endpoint.id, delivery: id }),
            ({ delivery }) => [eventId, delivery?.body] as const
          )
        )
        assert.deepStrictEqual(new Map(kept), bodies)
      })
    )
  })
}
