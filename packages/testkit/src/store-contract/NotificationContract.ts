import { assert, describe } from "@effect/vitest"
import type { JournalFact } from "@svc/domain/mandate/JournalFact"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { JournalEventType } from "@svc/protocol/Journal"
import { formatNanos, type Instant, NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { type NotifiedEvent, webhookBody } from "@svc/protocol/WebhookBody"
import { Effect } from "effect"
import { createdChange, followingChange, HOUR, newIdentifier } from "../StoreFixtures.ts"
import { loadCurrent, newPlace, type StoreIt, storeNow } from "./StoreUnderTest.ts"
import { deliveriesOf, register } from "./WebhooksUnderTest.ts"

type State = NonNullable<NotifiedEvent["state"]>

/** What each event of a mandate's own life says beside its type, and the state that it leads to. */
const lifeAt = (at: Instant, startsAt: Instant): ReadonlyArray<readonly [string, object, State]> => [
  ["mandate.rejected", { approval_session_id: newIdentifier("aps_") }, "REJECTED"],
  [
    "mandate.approved",
    { approval: { statement: { window: { starts_at: formatNanos(startsAt) } } } },
    at < startsAt ? "SCHEDULED" : "ACTIVE"
  ],
  ["mandate.activated", {}, "ACTIVE"],
  ["mandate.consumed", { authorization_id: newIdentifier("aut_") }, "CONSUMED"],
  ["mandate.revoked", { reason: 'so "be" it\u2028' }, "REVOKED"],
  ["mandate.expired", { end_reason: "WINDOW_ENDED" }, "EXPIRED"]
]

const ofAuthorizations = JournalEventType.literals.filter((type) => type.startsWith("authorization."))

interface Told {
  readonly fact: JournalFact
  readonly state?: State
}

/** One fact of each type that can follow `mandate.created`. What authorizations say is nothing to a notification. */
const everythingAt = (at: Instant, startsAt: Instant): ReadonlyArray<Told> => {
  const occurred_at = formatNanos(at)
  return [
    ...lifeAt(at, startsAt).map(([type, data, state]) => ({
      fact: { type, occurred_at, data } as unknown as JournalFact,
      state
    })),
    ...ofAuthorizations.map((type) => ({
      fact: { type, occurred_at, authorization_id: newIdentifier("aut_"), data: {} } as unknown as JournalFact
    }))
  ]
}

/** Records one event of each type, and gives the bodies that their deliveries must have, by event. */
const recordEverything = Effect.fn("recordEverything")(function* (
  organization: string,
  startsAt: Instant,
  at: Instant
) {
  const store = yield* MandateStore
  const made = createdChange(newPlace({ organization }), startsAt, { occurredAt: startsAt - HOUR })
  yield* store.append(made)
  const told = everythingAt(at, startsAt)
  const followed = followingChange(
    yield* loadCurrent(made),
    told.map(({ fact }) => fact)
  )
  yield* store.append(followed)
  const states = ["PENDING_APPROVAL" as State, ...told.map(({ state }) => state)]
  return [...made.events, ...followed.events].map((event, index) => {
    const { authorizationId, id, mandateVersion, occurredAt, type } = event
    const body = webhookBody({
      id,
      type,
      occurredAt,
      mandateId: made.mandate,
      ...(authorizationId === undefined ? {} : { authorizationId }),
      ...(states[index] === undefined ? {} : { state: states[index] }),
      version: mandateVersion
    })
    return [id, body] as const
  })
})

/** The state that a body shows is told three times: here, in `notificationOf`, and by a store that makes bodies itself. */
export const notificationContract = (it: StoreIt): void => {
  describe("the deliveries of an event", () => {
    it.effect("have its body, byte for byte, whatever its type and the state that it leads to", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        const second = (yield* storeNow) / NANOS_PER_SECOND
        const bodies = new Map<string, string>()
        // Instants are compared as text, whose fractions differ in length.
        for (const fraction of [0n, 250n * NANOS_PER_MILLISECOND, 7n]) {
          const startsAt = second * NANOS_PER_SECOND + fraction
          for (const at of [startsAt - 1n, startsAt, startsAt + 1n]) {
            for (const [id, body] of yield* recordEverything(organization, startsAt, at)) bodies.set(id, body)
          }
        }
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
