import { assert, describe, it } from "@effect/vitest"
import { createdChange, newAuthorization } from "@svc/testkit/StoreFixtures"
import { newPlace } from "@svc/testkit/store-contract/StoreUnderTest"
import { openReservationOf } from "../mandate/OpenReservation.ts"
import type { MandateStore } from "../ports/MandateStore.ts"
import { type KnownStream, makeKnownStreams } from "./KnownStreams.ts"

const SECOND = 1_000_000_000n
const NOW = 1_767_225_600n * SECOND
const store = {} as MandateStore["Service"]

/** A stream with so many open reservations, each known in full. */
const streamWith = (open: number, closed = 0): KnownStream => {
  const { headAfter, mandateState, organization } = createdChange(newPlace(), NOW)
  const authorizations = Array.from({ length: open + closed }, (_, index) => ({
    ...newAuthorization(index + 1, NOW),
    ...(index < closed ? { state: "CANCELLED" as const } : {})
  }))
  return {
    store,
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

/** Streams of a store whose clock was read when the monotonic clock was at so much. */
const readAt = (at: bigint, now = NOW) => {
  const known = makeKnownStreams()
  known.noteClock({ store, now, at })
  return known
}

describe("streams that a process knows", () => {
  it("are found for the store that they are of, at the store's clock as it is by now", () => {
    const known = readAt(0n)
    const one = streamWith(1)
    known.know("a", one, 0n)
    const found = { stream: one.stream, now: NOW + 3n * SECOND, lastRead: NOW }
    assert.deepStrictEqual(known.find("a", store, 3n * SECOND), found)
    assert.isUndefined(known.find("b", store, 0n))
    assert.isUndefined(known.find("a", { ...store }, 0n))
  })

  it("are found at the store's clock as it was read last, for whichever stream", () => {
    const known = makeKnownStreams()
    known.know("a", streamWith(0), 0n)
    assert.isUndefined(known.find("a", store, 0n))
    known.noteClock({ store, now: NOW, at: 0n })
    known.noteClock({ store, now: NOW + 7n * SECOND, at: 2n * SECOND })
    const { now, lastRead } = known.find("a", store, 3n * SECOND)!
    assert.deepStrictEqual([now, lastRead], [NOW + 8n * SECOND, NOW + 7n * SECOND])
    // The clock of another store says nothing of this one.
    known.noteClock({ store: { ...store }, now: NOW, at: 3n * SECOND })
    assert.isUndefined(known.find("a", store, 3n * SECOND))
  })

  it("are loaded while the store's clock is behind their last event", () => {
    const known = readAt(0n)
    const one = streamWith(0)
    const head = { ...one.stream.head, occurredAt: NOW + SECOND }
    known.know("a", { ...one, stream: { ...one.stream, head } }, 0n)
    assert.isUndefined(known.find("a", store, SECOND - 1n))
    assert.strictEqual(known.find("a", store, SECOND)?.now, NOW + SECOND)
  })

  it("are forgotten after their lifetime, which begins when they were known last", () => {
    const known = readAt(2n * SECOND)
    known.know("a", streamWith(0), 0n)
    assert.isDefined(known.find("a", store, 5n * SECOND - 1n))
    assert.isUndefined(known.find("a", store, 5n * SECOND))
    known.know("a", streamWith(0), SECOND)
    assert.isDefined(known.find("a", store, 6n * SECOND - 1n))
    assert.isUndefined(known.find("a", store, 6n * SECOND))
  })

  it("are loaded once the store's clock was read too long ago", () => {
    const known = readAt(SECOND)
    known.know("a", streamWith(0), 4n * SECOND)
    assert.isDefined(known.find("a", store, 6n * SECOND - 1n))
    assert.isUndefined(known.find("a", store, 6n * SECOND))
  })

  it("are loaded for a second after another process changed them, and are not found before they are known again", () => {
    const known = readAt(0n)
    known.know("a", streamWith(0), 0n)
    known.doubt("a", SECOND)
    assert.isUndefined(known.find("a", store, 3n * SECOND))
    known.know("a", streamWith(0), SECOND)
    assert.isUndefined(known.find("a", store, 2n * SECOND - 1n))
    assert.isDefined(known.find("a", store, 2n * SECOND))
  })

  it("are known with their newest open authorizations in full, and with no closed one", () => {
    const known = readAt(0n)
    const one = streamWith(65, 2)
    known.know("a", one, 0n)
    const { authorizations, open } = known.find("a", store, 0n)!.stream.state
    assert.deepStrictEqual([...authorizations], [...one.stream.state.authorizations].slice(3))
    assert.deepStrictEqual(open, one.stream.state.open)
  })

  it("are two thousand at most, and the newest", () => {
    const known = readAt(0n)
    const one = streamWith(0)
    for (let number = 0; number <= 2000; number++) known.know(`${number}`, one, 0n)
    assert.deepStrictEqual(
      ["0", "1", "2000"].map((key) => known.find(key, store, 0n) !== undefined),
      [false, true, true]
    )
  })

  it("hold some 32 million characters at most, and each is counted as long as it is known", () => {
    const known = readAt(0n)
    const large = (): KnownStream => {
      const one = streamWith(1)
      const [authorization] = one.stream.state.authorizations.values()
      const attributes = { text: "x".repeat(1_000_000) }
      const proposedAction = { ...authorization!.proposedAction, attributes }
      const authorizations = new Map([[authorization!.id, { ...authorization!, proposedAction }]])
      return { ...one, stream: { ...one.stream, state: { ...one.stream.state, authorizations } } }
    }
    const again = large()
    for (let times = 0; times < 100; times++) known.know("again", again, 0n)
    known.know("doubted", large(), 0n)
    known.doubt("doubted", 0n)
    for (let number = 0; number < 30; number++) known.know(`${number}`, large(), 0n)
    const names = ["again", ...Array.from({ length: 40 }, (_, number) => `${number}`)]
    const found = () => names.filter((key) => known.find(key, store, 0n) !== undefined)
    assert.lengthOf(found(), 31)
    for (let number = 30; number < 40; number++) known.know(`${number}`, large(), 0n)
    assert.deepStrictEqual(found(), names.slice(-31))
  })

  it("are counted with everything in lists, and with each name, number and null", () => {
    const known = readAt(0n)
    const listed = (value: unknown): KnownStream => {
      const one = streamWith(1)
      const [authorization] = one.stream.state.authorizations.values()
      const attributes = { values: Array.from({ length: 100_000 }, () => value) } as never
      const proposedAction = { ...authorization!.proposedAction, attributes }
      const authorizations = new Map([[authorization!.id, { ...authorization!, proposedAction }]])
      return { ...one, stream: { ...one.stream, state: { ...one.stream.state, authorizations } } }
    }
    const keptOf = (value: unknown): number => {
      const names = Array.from({ length: 50 }, (_, number) => `${typeof value} ${value} ${number}`)
      for (const name of names) known.know(name, listed(value), 0n)
      return names.filter((name) => known.find(name, store, 0n) !== undefined).length
    }
    // Some 3.2 million characters of text or of members each, and 0.8 of numbers and nulls.
    for (const [value, least, most] of [
      ["x".repeat(29), 8, 12],
      [{ ["x".repeat(29)]: "" }, 7, 11],
      [1, 20, 50],
      [null, 20, 50]
    ] as const) {
      const kept = keptOf(value)
      assert.isTrue(kept >= least && kept <= most, `${typeof value}: ${kept}`)
    }
  })

  it("are counted with their open reservations", () => {
    const known = readAt(0n)
    const one = streamWith(256)
    const names = Array.from({ length: 600 }, (_, number) => `${number}`)
    for (const name of names) known.know(name, one, 0n)
    const found = names.filter((name) => known.find(name, store, 0n) !== undefined)
    // 64 authorizations have some 40,000 characters, 256 reservations 64,000.
    assert.isAbove(found.length, 250)
    assert.isBelow(found.length, 400)
  })

  it("are not kept once they are too old to be found", () => {
    const known = readAt(0n)
    const first = streamWith(0)
    known.know("a", first, 0n)
    known.know("b", streamWith(0), 5n * SECOND)
    // At an instant at which it would have been found.
    assert.isUndefined(known.find("a", store, 0n))
    assert.isDefined(known.find("b", store, 5n * SECOND - 1n))
  })
})
