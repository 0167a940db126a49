import { assert, describe, it } from "@effect/vitest"
import { verifyEventHash } from "@svc/protocol/evidence/EventHash"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import { commitReport, harnessOrganization, makeCaller, proposalBody } from "@svc/testkit/ProgramHarness"
import { Effect } from "effect"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import { encodeCursor } from "../engine/Cursor.ts"
import { EventFeed, FEED_START, PositionRefused } from "../ports/EventFeed.ts"
import { FEED_PAGE_BYTES, readEventFeed } from "./EventFeed.ts"

const caller = makeCaller()
const organization = caller.organization.id

const pages = (limit: number) =>
  Effect.gen(function* () {
    const texts: Array<string> = []
    let after: string | undefined
    for (;;) {
      const page = yield* readEventFeed({ organization, limit, ...(after === undefined ? {} : { after }) })
      texts.push(...page.data)
      if (!page.has_more) return { texts, cursor: page.next_cursor }
      after = page.next_cursor
    }
  })

const lived = Effect.gen(function* () {
  yield* fromTheStart
  const first = (yield* caller.create()).resource.id
  const second = (yield* caller.create()).resource.id
  yield* caller.approve(second)
  const { resource } = yield* caller.propose(second, proposalBody(1))
  yield* caller.commit(resource.id, commitReport(1))
  return { first, second }
})

describe("the event feed (part 8)", () => {
  it.effect("shows the journal's events with their mandate, in pages that continue each other", () =>
    Effect.gen(function* () {
      const { first, second } = yield* lived
      const all = (yield* pages(100)).texts
      const events = all.map((text) => JSON.parse(text))
      assert.deepStrictEqual(
        events.map(({ mandate_id, type }) => [mandate_id, type]),
        [
          [first, "mandate.created"],
          [second, "mandate.created"],
          [second, "mandate.approved"],
          [second, "authorization.reserved"],
          [second, "authorization.committed"]
        ]
      )
      for (const { mandate_id: _, ...event } of events) {
        assert.isTrue(verifyEventHash(event))
        assert.isTrue(all.some((text) => text.endsWith(canonicalJson(event).slice(1))))
      }
      for (const limit of [1, 2, 5, 6]) assert.deepStrictEqual((yield* pages(limit)).texts, all)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("always gives a cursor to continue from, even at its end and before the first event", () =>
    Effect.gen(function* () {
      const empty = yield* readEventFeed({ organization, limit: 1 })
      assert.deepStrictEqual([empty.data, empty.has_more], [[], false])
      yield* lived
      const begun = yield* readEventFeed({ organization, limit: 100, after: empty.next_cursor })
      assert.lengthOf(begun.data, 5)
      const { cursor } = yield* pages(4)
      assert.strictEqual(begun.next_cursor, cursor)
      const end = yield* readEventFeed({ organization, limit: 100, after: cursor })
      assert.deepStrictEqual(end, { data: [], has_more: false, next_cursor: cursor })
      yield* caller.create()
      assert.lengthOf((yield* readEventFeed({ organization, limit: 100, after: cursor })).data, 1)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("refuses a cursor that is not its own", () =>
    Effect.gen(function* () {
      yield* lived
      const other = harnessOrganization({ id: "org_00000000000000000000000009" }).id
      const { cursor } = yield* pages(4)
      const ofNothing = (yield* readEventFeed({ organization: other, limit: 1 })).next_cursor
      const foreign = [
        { organization: other, after: cursor },
        { organization, after: ofNothing },
        { organization, after: encodeCursor({ list: "mandates" }, "mnd_1") },
        { organization, after: encodeCursor({ list: "feed", organization }, "no position") },
        { organization, after: encodeCursor({ list: "feed", organization }, 1) },
        { organization, after: encodeCursor({ list: "feed", organization }, "99") },
        { organization, after: `${cursor}A` },
        { organization, after: "" }
      ]
      for (const query of foreign) {
        const refused = yield* Effect.flip(readEventFeed({ ...query, limit: 9 }))
        assert.strictEqual(refused._tag, "InvalidCursor", query.after)
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("distinguishes a cursor of another history from one that is not its own", () =>
    Effect.gen(function* () {
      const refusal = (reason: PositionRefused["reason"]) =>
        Effect.flip(
          Effect.provideService(readEventFeed({ organization, limit: 1 }), EventFeed, {
            read: () => Effect.fail(new PositionRefused({ reason }))
          })
        )
      assert.strictEqual((yield* refusal("history_changed"))._tag, "HistoryChanged")
      assert.strictEqual((yield* refusal("not_given"))._tag, "InvalidCursor")
    })
  )

  it.effect("reads no more than one page of bytes from the store", () =>
    Effect.gen(function* () {
      const feed = EventFeed.of({
        read: (query) => {
          assert.deepStrictEqual(query, { organization, after: FEED_START, limit: 7, bytes: FEED_PAGE_BYTES })
          return Effect.succeed({ events: [], position: FEED_START, hasMore: false })
        }
      })
      yield* readEventFeed({ organization, limit: 7 }).pipe(Effect.provideService(EventFeed, feed))
    })
  )
})
