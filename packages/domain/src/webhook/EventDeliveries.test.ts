import { assert, describe, it } from "@effect/vitest"
import { ENDPOINT } from "../../test/ActiveEndpoint.ts"
import type { SealedEvent } from "../mandate/SealedEvent.ts"
import { deliveryIdOf } from "./DeliveryId.ts"
import { eventDeliveries, type NotifiedEndpoint } from "./EventDeliveries.ts"

const NOW = 100n

const event = (number: number, type: SealedEvent["type"]): SealedEvent => ({
  seq: number,
  id: `evt_${String(number).padStart(26, "0")}`,
  type,
  occurredAt: "2026-12-01T00:00:00.000000000Z",
  mandateVersion: 1,
  hash: "hash",
  text: "text",
  notification: `body ${number}`
})

const events = [event(1, "mandate.created"), event(2, "mandate.approved"), event(3, "mandate.revoked")]
const active: NotifiedEndpoint = { endpoint: ENDPOINT, kept: undefined, missedSince: undefined }
const disabled = (kept: NotifiedEndpoint["kept"], missedSince?: bigint): NotifiedEndpoint => ({
  endpoint: { ...ENDPOINT, status: "disabled", disabledAt: 5n },
  kept,
  missedSince
})

const told = (notified: NotifiedEndpoint) => {
  const { deliveries, kept, missedSince } = eventDeliveries(notified, events, NOW)
  return { bodies: deliveries.map(({ body }) => body), kept, missedSince }
}

describe("the deliveries of events (part 8)", () => {
  it("are due at once, each with the body of its event", () => {
    const { deliveries } = eventDeliveries(active, events.slice(0, 1), NOW)
    assert.deepStrictEqual(deliveries, [
      {
        delivery: {
          id: deliveryIdOf(events[0]!.id, ENDPOINT.id),
          organizationId: ENDPOINT.organizationId,
          endpointId: ENDPOINT.id,
          eventId: events[0]!.id,
          eventType: "mandate.created",
          createdAt: NOW,
          state: "pending",
          nextAttemptAt: NOW,
          attempts: []
        },
        body: "body 1"
      }
    ])
  })

  it("are of every event, or of the types that the endpoint asked for, and none once it is deleted", () => {
    const none = { kept: undefined, missedSince: undefined }
    assert.deepStrictEqual(told(active), { bodies: ["body 1", "body 2", "body 3"], ...none })
    const some: NotifiedEndpoint = { ...active, endpoint: { ...ENDPOINT, eventTypes: ["mandate.approved"] } }
    assert.deepStrictEqual(told(some), { bodies: ["body 2"], ...none })
    const gone: NotifiedEndpoint = { ...active, endpoint: { ...ENDPOINT, status: "deleted" } }
    assert.deepStrictEqual(told(gone), { bodies: [], ...none })
  })

  it("are kept for a disabled endpoint while there is room and time, and are missed from then on", () => {
    assert.deepStrictEqual(told(disabled({ until: 101n, left: 3 })), {
      bodies: ["body 1", "body 2", "body 3"],
      kept: { until: 101n, left: 0 },
      missedSince: undefined
    })
    assert.deepStrictEqual(told(disabled({ until: 101n, left: 2 })), {
      bodies: ["body 1", "body 2"],
      kept: { until: 101n, left: 0 },
      missedSince: NOW
    })
    assert.deepStrictEqual(told(disabled({ until: 100n, left: 2 })), {
      bodies: [],
      kept: { until: 100n, left: 2 },
      missedSince: NOW
    })
  })

  it("are missed since the first that was, however many follow", () => {
    assert.strictEqual(told(disabled({ until: 101n, left: 0 }, 7n)).missedSince, 7n)
  })
})
