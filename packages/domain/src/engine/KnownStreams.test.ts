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

  it("are two thousand at most, and the newest", () => {
    const known = makeKnownStreams()
    const one = streamWith(0)
    for (let number = 0; number <= 2000; number++) known.know(`${number}`, one)
    assert.deepStrictEqual(
      ["0", "1", "2000"].map((key) => known.find(key, store, 0n) !== undefined),
      [false, true, true]
    )
  })

  it("hold some 32 million characters at most, and each is counted as long as it is known", () => {
    const known = makeKnownStreams()
    const large = (): KnownStream => {
      const one = streamWith(1)
      const [authorization] = one.stream.state.authorizations.values()
      const attributes = { text: "x".repeat(1_000_000) }
      const proposedAction = { ...authorization!.proposedAction, attributes }
      const authorizations = new Map([[authorization!.id, { ...authorization!, proposedAction }]])
      return { ...one, stream: { ...one.stream, state: { ...one.stream.state, authorizations } } }
    }
    const again = large()
    for (let times = 0; times < 100; times++) known.know("again", again)
    known.know("doubted", large())
    known.doubt("doubted", 0n)
    for (let number = 0; number < 30; number++) known.know(`${number}`, large())
    const names = ["again", ...Array.from({ length: 40 }, (_, number) => `${number}`)]
    const found = () => names.filter((key) => known.find(key, store, 0n) !== undefined)
    assert.lengthOf(found(), 31)
    for (let number = 30; number < 40; number++) known.know(`${number}`, large())
    assert.deepStrictEqual(found(), names.slice(-31))
  })

  it("are counted with their open reservations", () => {
    const known = makeKnownStreams()
    const one = streamWith(256)
    const names = Array.from({ length: 600 }, (_, number) => `${number}`)
    for (const name of names) known.know(name, one)
    const found = names.filter((name) => known.find(name, store, 0n) !== undefined)
    // 64 authorizations have some 40,000 characters, 256 reservations 64,000.
    assert.isAbove(found.length, 250)
    assert.isBelow(found.length, 400)
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
