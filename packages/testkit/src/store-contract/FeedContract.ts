import { EventFeed, FEED_START, type FeedEvent, PositionRefused } from "@svc/domain/ports/EventFeed"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { Effect, Layer, Result } from "effect"
import { plainPorts } from "../PlainPorts.ts"
import {
  followingChange,
  newAuthorization,
  newDigest,
  newIdentifier,
  reservingChange,
  revokedFact
} from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { refused, refusedWith } from "./Refused.ts"
import { loadCurrent, newPlace, PLENTY, recordMandate, type StoreIt } from "./StoreUnderTest.ts"

const NO_LIMIT_BYTES = 100_000_000

/** Concurrent writers, each with its own mandate at first, and one that all of them share. */
const WRITERS = 32
const WRITES_EACH = 4
const READERS = 4
/** Pages that a reader asks for after the last event, before something must be wrong. */
const MAX_EMPTY_PAGES = 100_000

const read = Effect.fn("read")(function* (
  organization: string,
  after: string,
  limit = PLENTY,
  bytes = NO_LIMIT_BYTES
) {
  const feed = yield* EventFeed
  return yield* feed.read({ organization, after, limit, bytes })
})

/** A live store may be some way behind what others are doing to it just now. */
const readWhole = Effect.fn("readWhole")(function* (organization: string, count: number) {
  for (let pages = 0; pages < MAX_EMPTY_PAGES; pages++) {
    const page = yield* read(organization, FEED_START)
    if (page.events.length >= count) return page
    yield* Effect.yieldNow
  }
  return yield* Effect.die(new Error("the feed never became whole"))
})

const placesOf = (events: ReadonlyArray<FeedEvent>): ReadonlyArray<string> =>
  events.map(({ mandate, text }) => `${mandate} ${JSON.parse(text).seq}`)

/** Pages through the feed while others write, until it has met so many events. */
const follow = Effect.fn("follow")(function* (organization: string, count: number, limit: number) {
  const met: Array<FeedEvent> = []
  let position = FEED_START
  for (let empty = 0; met.length < count; ) {
    const page = yield* read(organization, position, limit)
    met.push(...page.events)
    position = page.position
    if (page.events.length > 0) continue
    empty += 1
    if (empty > MAX_EMPTY_PAGES) return yield* Effect.die(new Error(`${met.length} of ${count} events`))
    yield* Effect.yieldNow
  }
  return { met, position }
})

const assertAscending = (events: ReadonlyArray<FeedEvent>): void => {
  const seqs = new Map<string, number>()
  for (const { mandate, text } of events) {
    const seq = (seqs.get(mandate) ?? 0) + 1
    assert.strictEqual(JSON.parse(text).seq, seq, mandate)
    seqs.set(mandate, seq)
  }
}

/** Two mandates with three events each, recorded in turns. */
const recordTwo = Effect.fn("recordTwo")(function* (organization: string) {
  const store = yield* MandateStore
  const places = [newPlace({ organization }), newPlace({ organization })]
  for (const place of places) yield* recordMandate(place)
  for (const reason of ["first", "second"]) {
    for (const place of places) {
      const current = yield* loadCurrent(place)
      yield* store.append(followingChange(current, [revokedFact(current.now, reason)]))
    }
  }
  return places.map(({ mandate }) => mandate)
})

export const feedContract = (it: StoreIt): void => {
  it.describe("feed", () => {
    it.effect("of an organization without events is empty, and stays where it was asked from", () =>
      Effect.gen(function* () {
        const page = yield* read(newIdentifier("org_"), FEED_START)
        assert.deepStrictEqual(page, { events: [], position: FEED_START, hasMore: false })
      })
    )

    it.effect("gives every event byte for byte, in the order in which they were recorded", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { organization } = newPlace()
        const mandates = yield* recordTwo(organization)
        const { events, hasMore } = yield* readWhole(organization, 6)
        assert.isFalse(hasMore)
        assert.deepStrictEqual(
          placesOf(events),
          [1, 2, 3].flatMap((seq) => mandates.map((mandate) => `${mandate} ${seq}`))
        )
        for (const mandate of mandates) {
          const journal = yield* store.journal({
            organization,
            mandate,
            afterSeq: 0,
            uptoSeq: PLENTY,
            limit: PLENTY
          })
          assert.deepStrictEqual(
            events.filter((event) => event.mandate === mandate).map(({ text }) => text),
            journal
          )
        }
      })
    )

    it.effect("is read on from any position, in pages of any size", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        yield* recordTwo(organization)
        const { events, position: end } = yield* readWhole(organization, 6)
        for (const limit of [1, 2, 3, 4, 5, 6, 7]) {
          const { met, position } = yield* follow(organization, 6, limit)
          assert.deepStrictEqual(met, events)
          assert.strictEqual(position, end)
          const first = yield* read(organization, FEED_START, limit)
          assert.strictEqual(first.hasMore, limit < 6)
          assert.lengthOf(first.events, Math.min(limit, 6))
        }
        assert.deepStrictEqual(yield* read(organization, end), { events: [], position: end, hasMore: false })
      })
    )

    it.effect("ends a page where its bytes come to the limit, after at least one event", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const { organization } = current.stream
        const facts = Array.from({ length: 5 }, () => revokedFact(current.now, "\u{1f600}".repeat(1000)))
        yield* store.append(followingChange(current, facts))
        const { events } = yield* readWhole(organization, 6)
        const lengths = events.map(({ text }) => new TextEncoder().encode(text).length)
        const upTo = (count: number) => lengths.slice(0, count).reduce((sum, length) => sum + length, 0)
        for (const [bytes, count] of [
          [1, 1],
          [upTo(1), 1],
          [upTo(1) + 1, 2],
          [upTo(3), 3],
          [upTo(3) + 1, 4],
          [upTo(6), 6]
        ] as const) {
          const page = yield* read(organization, FEED_START, PLENTY, bytes)
          assert.strictEqual(page.events.length, count, `${bytes} bytes`)
          assert.strictEqual(page.hasMore, count < 6)
          const rest = yield* read(organization, page.position)
          assert.deepStrictEqual([...page.events, ...rest.events], events)
        }
      })
    )

    it.effect("goes on from its end with what is recorded next", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { organization } = newPlace()
        yield* recordTwo(organization)
        const { position } = yield* readWhole(organization, 6)
        const current = yield* recordMandate({ organization })
        yield* store.append(followingChange(current, []))
        yield* readWhole(organization, 7)
        const { events } = yield* read(organization, position)
        assert.deepStrictEqual(placesOf(events), [`${current.stream.state.mandate.terms.mandate_id} 1`])
      })
    )

    it.effect("holds what was refused nowhere", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const { organization } = current.stream
        const change = followingChange(current, [revokedFact(current.now)], { expected: 7 })
        yield* refusedWith("Stale", "append", store.append(change))
        const late = followingChange(current, [revokedFact(current.now)], { recordBefore: current.now })
        yield* refusedWith("OutOfTime", "append", store.append(late))
        assert.lengthOf((yield* readWhole(organization, 1)).events, 1)
      })
    )

    it.effect("shows an organization its own alone, from a position of another's too", () =>
      Effect.gen(function* () {
        const feed = yield* EventFeed
        const { organization: _, ...shared } = newPlace()
        const one = yield* recordMandate(newPlace(shared))
        const other = yield* recordMandate(newPlace(shared))
        const [own, foreign] = [one.stream.organization, other.stream.organization]
        yield* recordTwo(foreign)
        const { position } = yield* readWhole(foreign, 7)
        const { events } = yield* readWhole(own, 1)
        assert.deepStrictEqual(placesOf(events), [`${shared.mandate} 1`])
        const beyond = yield* feed.read({ organization: own, after: position, limit: 9, bytes: 9 }).pipe(
          Effect.map(({ events }) => events),
          Effect.catchTag("PositionRefused", () => Effect.succeed([]))
        )
        assert.deepStrictEqual(beyond, [])
      })
    )

    it.effect("knows no position that it did not give", () =>
      Effect.gen(function* () {
        const feed = yield* EventFeed
        const { stream } = yield* recordMandate()
        const { organization } = stream
        for (const after of [
          "x",
          "-1",
          "1.5",
          " 1",
          "01",
          "999999999999999",
          "1.mnd_x",
          "..",
          newDigest(),
          "9223372036854775807.mnd_x.1",
          "9223372036854775808.mnd_x.1",
          "1.mnd'x.1",
          "1.mnd_x.0"
        ]) {
          const refusal = yield* refused("read", feed.read({ organization, after, limit: 9, bytes: 9 }))
          assert.deepStrictEqual(refusal, new PositionRefused({ reason: "not_given" }), after)
        }
      })
    )

    it.effect(`lets every reader meet each event once, in order, while ${WRITERS} writers append`, () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { organization } = newPlace()
        const hot = newPlace({ organization })
        yield* recordMandate(hot)
        const reserve = Effect.fnUntraced(
          function* (place: { organization: string; mandate: string }) {
            const current = yield* loadCurrent(place)
            const order = current.stream.state.mandate.authorizationCount + 1
            yield* Effect.yieldNow
            yield* store.append(reservingChange(current, [newAuthorization(order, current.now)]))
          },
          Effect.retry({ while: ({ _tag }) => _tag === "Stale" })
        )
        const write = Effect.gen(function* () {
          const place = newPlace({ organization })
          yield* recordMandate(place)
          for (let writes = 0; writes < WRITES_EACH; writes++) yield* reserve(place)
          yield* reserve(hot)
        })
        const count = 1 + WRITERS * (1 + WRITES_EACH + 1)
        const readers = Array.from({ length: READERS }, (_, index) =>
          follow(organization, count, 7 + 10 * index)
        )
        const [, followed] = yield* Effect.all(
          [
            Effect.replicateEffect(write, WRITERS, { concurrency: "unbounded" }),
            Effect.all(readers, { concurrency: "unbounded" })
          ],
          { concurrency: "unbounded" }
        )
        const { events } = yield* readWhole(organization, count)
        assert.strictEqual(new Set(placesOf(events)).size, count)
        assertAscending(events)
        for (const { met, position } of followed) {
          assert.deepStrictEqual(placesOf(met), placesOf(events))
          assert.deepStrictEqual((yield* read(organization, position)).events, [])
        }
      })
    )
  })
}

/** Makes the store under test once more. */
export type AnotherStore = () => Layer.Layer<StoragePorts, unknown>

/**
 * The rule about the history of a feed. A contract cannot restore a store to an earlier state; another store that begins with
 * nothing is one that has lost everything. Where both are over one database the rule says nothing.
 */
export const feedHistoryContract = (it: StoreIt, another: AnotherStore | undefined): void => {
  if (another === undefined) return
  it.describe("feed of another history", () => {
    it.effect("is not read on from a position of a store whose events it does not have", () =>
      Effect.gen(function* () {
        const { stream } = yield* recordMandate()
        const { organization } = stream
        const { position } = yield* readWhole(organization, 1)
        const otherPorts = yield* Layer.build(Layer.fresh(another()))
        const inTheOther = Effect.gen(function* () {
          if ((yield* read(organization, FEED_START)).events.length > 0) return undefined
          for (let events = 1; events <= 2; events++) {
            yield* recordMandate({ organization })
            yield* readWhole(organization, events)
          }
          return yield* Effect.result(read(organization, position))
        })
        const answer = yield* Effect.provideContext(inTheOther, plainPorts(otherPorts))
        if (answer === undefined) return
        assert.isTrue(
          Result.isFailure(answer),
          "a position was to be refused whose event the store has lost, but it answered with other events"
        )
        const refusal = Result.isFailure(answer) ? answer.failure : undefined
        assert.deepStrictEqual(refusal, new PositionRefused({ reason: "history_changed" }))
      })
    )
  })
}
