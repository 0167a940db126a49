import { assert, describe, it } from "@effect/vitest"
import { ENDPOINT } from "../../test/ActiveEndpoint.ts"
import { type AttemptBounds, deliveriesInTurn, type WaitingEndpoint } from "./DeliveryTurns.ts"
import { beginAttempt, pendingDelivery, type WebhookDeliveryState } from "./WebhookDelivery.ts"

const NOW = 100n

/** A delivery that has waited since an instant. */
const due = (id: string, since: bigint): WebhookDeliveryState => ({
  ...pendingDelivery(
    {
      id,
      organizationId: ENDPOINT.organizationId,
      endpointId: ENDPOINT.id,
      eventId: "evt_1",
      eventType: "mandate.created"
    },
    0n
  ),
  nextAttemptAt: since
})

const underWay = (id: string) => beginAttempt(due(id, 0n), ENDPOINT, { token: "t", now: 0n, lasts: 1000n })

const endpoint = (id: string, ...waiting: ReadonlyArray<WebhookDeliveryState>): WaitingEndpoint => ({
  endpoint: { ...ENDPOINT, id },
  waiting
})

const BOUNDS: AttemptBounds = { limit: 100, perEndpoint: 100, assured: 0, perOrganization: 100 }

const next = (
  organizations: ReadonlyArray<ReadonlyArray<WaitingEndpoint>>,
  bounds: Partial<AttemptBounds> = {}
) => deliveriesInTurn(organizations, { ...BOUNDS, ...bounds }, NOW).map(({ delivery }) => delivery.id)

describe("the deliveries that are leased next (part 8)", () => {
  it("are due, of an active endpoint, and not under way", () => {
    const waiting = [due("later", 101n), due("now", 100n), due("before", 99n), underWay("open")]
    assert.deepStrictEqual(next([[endpoint("a", ...waiting)]]), ["before", "now"])
    const disabled = endpoint("a", ...waiting)
    assert.deepStrictEqual(
      next([[{ ...disabled, endpoint: { ...disabled.endpoint, status: "disabled" } }]]),
      []
    )
  })

  it("are those of the endpoints with the fewest attempts under way first, then those that have waited longest", () => {
    const busy = endpoint("a", underWay("a0"), due("a1", 1n), due("a2", 2n))
    const calm = endpoint("b", due("b1", 4n), due("b2", 3n))
    const other = endpoint("c", due("c1", 5n), due("c2", 6n))
    assert.deepStrictEqual(next([[busy, calm], [other]]), ["b2", "c1", "a1", "b1", "c2", "a2"])
  })

  it("are at most as many as are asked for, and as an endpoint has room for", () => {
    const first = endpoint("a", underWay("a0"), due("a1", 1n), due("a2", 2n), due("a3", 3n))
    const second = endpoint("b", due("b1", 4n), due("b2", 5n))
    assert.deepStrictEqual(next([[first, second]], { limit: 2 }), ["b1", "a1"])
    assert.deepStrictEqual(next([[first, second]], { perEndpoint: 2 }), ["b1", "a1", "b2"])
    assert.deepStrictEqual(next([[first, second]], { perEndpoint: 0 }), [])
    assert.deepStrictEqual(next([[first, second]], { perEndpoint: 1, bounds: new Map([["a", 3]]) }), [
      "b1",
      "a1",
      "a2"
    ])
  })

  it("are as many as an organization has room for, and what each of its endpoints is assured of", () => {
    const full = endpoint("a", underWay("a0"), due("a1", 1n), due("a2", 2n))
    const quiet = endpoint("b", due("b1", 3n), due("b2", 4n))
    const other = endpoint("c", due("c1", 5n))
    const bounds = { perOrganization: 2 }
    assert.deepStrictEqual(next([[full, quiet], [other]], bounds), ["b1", "c1"])
    assert.deepStrictEqual(next([[full, quiet], [other]], { ...bounds, assured: 1 }), ["b1", "c1"])
    assert.deepStrictEqual(next([[full, quiet], [other]], { ...bounds, assured: 2 }), [
      "b1",
      "c1",
      "a1",
      "b2"
    ])
  })
})
