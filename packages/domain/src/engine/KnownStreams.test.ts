import { assert, describe, it } from "@effect/vitest"
import { createdChange, newAuthorization } from "@svc/testkit/StoreFixtures"
import { newPlace } from "@svc/testkit/store-contract/StoreUnderTest"
import { openReservationOf } from "../mandate/OpenReservation.ts"
import type { MandateStore } from "../ports/MandateStore.ts"
import { type KnownStream, makeKnownStreams } from "./KnownStreams.ts"

const SECOND = 1_000_000_000n
const NOW = 1_767_225_600n * SECOND
const store = {} as MandateStore["Service"]

/** A stream with so many open reservations, each known in full, loaded when the monotonic clock was at 0. */
const streamWith = (open: number, closed = 0, at = 0n): KnownStream => {
  const { headAfter, mandateState, organization } = createdChange(newPlace(), NOW)
  const authorizations = Array.from({ length: open + closed }, (_, index) => ({
    ...newAuthorization(index + 1, NOW),
    ...(index < closed ? { state: "CANCELLED" as const } : {})
  }))
  return {
    store,
    loaded: { now: NOW, at },
    stream: {
      organization,
      revision: 1,
      head: headAfter,
      state: {
        mandate: mandateState,
        open: authorizations.slice(closed).map(openReservationOf),
        authorizations: new Map(authorizations.map((one) => [one.id, one]))
      }
    }
  }
}

describe("streams that a process knows", () => {
  it("are found for the store that they are of, at the store's clock as it is by now", () => {
    const known = makeKnownStreams()
    const one = streamWith(1)
    known.know("a", one)
    assert.deepStrictEqual(known.find("a", store, 3n * SECOND), { ...one, now: NOW + 3n * SECOND })
    assert.isUndefined(known.find("b", store, 0n))
    assert.isUndefined(known.find("a", { ...store }, 0n))
  })

  it("are decided on no earlier than their last event", () => {
    const known = makeKnownStreams()
    const one = streamWith(0)
    const head = { ...one.stream.head, occurredAt: NOW + SECOND }
    known.know("a", { ...one, stream: { ...one.stream, head } })
    assert.strictEqual(known.find("a", store, 1n)?.now, NOW + SECOND)
    assert.strictEqual(known.find("a", store, SECOND + 1n)?.now, NOW + SECOND + 1n)
  })

  it("are forgotten after their lifetime, which begins when they were loaded", () => {
    const known = makeKnownStreams()
    known.know("a", streamWith(0))
    assert.isDefined(known.find("a", store, 5n * SECOND - 1n))
    assert.isUndefined(known.find("a", store, 5n * SECOND))
  })

  it("are loaded for a second after another process changed them, and are not found before they are known again", () => {
    const known = makeKnownStreams()
    known.know("a", streamWith(0))
    known.doubt("a", SECOND)
    assert.isUndefined(known.find("a", store, 3n * SECOND))
    known.know("a", streamWith(0, 0, SECOND))
    assert.isUndefined(known.find("a", store, 2n * SECOND - 1n))
    assert.isDefined(known.find("a", store, 2n * SECOND))
  })

  it("are known with their newest open authorizations in full, and with no closed one", () => {
    const known = makeKnownStreams()
    const one = streamWith(65, 2)
    known.know("a", one)
    const { authorizations, open } = known.find("a", store, 0n)!.stream.state
    assert.deepStrictEqual([...authorizations], [...one.stream.state.authorizations].slice(3))
    assert.deepStrictEqual(open, one.stream.state.open)
  })

  it("have at most a thousand open reservations, and are two thousand at most", () => {
    const known = makeKnownStreams()
    known.know("a", streamWith(1000))
    assert.isDefined(known.find("a", store, 0n))
    known.know("a", streamWith(1001))
    assert.isUndefined(known.find("a", store, 0n))
    const one = streamWith(0)
    for (let number = 0; number <= 2000; number++) known.know(`${number}`, one)
    assert.deepStrictEqual(
      ["0", "1", "2000"].map((key) => known.find(key, store, 0n) !== undefined),
      [false, true, true]
    )
  })

  it("are not kept once they are too old to be found", () => {
    const known = makeKnownStreams()
    const first = streamWith(0)
    known.know("a", first)
    known.know("b", streamWith(0, 0, 5n * SECOND))
    // At an instant at which it would have been found.
    assert.isUndefined(known.find("a", store, 0n))
    assert.isDefined(known.find("b", store, 5n * SECOND))
  })
})
