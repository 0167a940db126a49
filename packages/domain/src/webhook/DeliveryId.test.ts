import { assert, describe, it } from "@effect/vitest"
import {
  formatIdentifier,
  IDENTIFIER_RANDOM_BYTES,
  type IdentifierPrefix,
  isIdentifier
} from "@svc/protocol/Identifier"
import * as fc from "fast-check"
import { deliveryIdOf } from "./DeliveryId.ts"

const MILLISECONDS = 1_767_225_600_000

const identifiers = (prefix: IdentifierPrefix) =>
  fc
    .tuple(
      fc.integer({ min: 0, max: 9 }),
      fc.uint8Array({ minLength: IDENTIFIER_RANDOM_BYTES, maxLength: IDENTIFIER_RANDOM_BYTES })
    )
    .map(([after, random]) => formatIdentifier(prefix, MILLISECONDS + after, random))

describe("deliveryIdOf", () => {
  it("is an identifier of a delivery, as old as its event", () => {
    fc.assert(
      fc.property(identifiers("evt_"), identifiers("whe_"), (event, endpoint) => {
        const id = deliveryIdOf(event, endpoint)
        assert.isTrue(isIdentifier("dlv_", id))
        assert.strictEqual(id.slice(4, 14), event.slice(4, 14))
      })
    )
  })

  it("tells an event's deliveries to different endpoints apart, and an endpoint's of different events", () => {
    const [event, other] = ["evt_01kbcd2e3f4g5h6j7k8m9npqrs", "evt_01kbcd2e3f4g5h6j7k8m9npqrt"] as const
    const [endpoint, another] = ["whe_01kbcd2e3f4g5h6j7k8m9npqrs", "whe_01kbcd2e3f4g5h6j7k8m9npqrt"] as const
    const ids = [event, other].flatMap((one) => [endpoint, another].map((two) => deliveryIdOf(one, two)))
    assert.strictEqual(new Set(ids).size, 4)
  })
})
