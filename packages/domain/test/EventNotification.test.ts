import { assert, describe, it } from "@effect/vitest"
import { notificationOf } from "@svc/protocol/EventNotification"
import { cancelReport, commitReport, makeCaller, proposalBody, singleBody } from "@svc/testkit/ProgramHarness"
import { Effect } from "effect"
import { MandateStore } from "../src/ports/MandateStore.ts"
import { readEventFeed } from "../src/programs/EventFeed.ts"
import { fromTheStart, memoryPrograms, setTo } from "./MemoryPrograms.ts"

const caller = makeCaller()
const organization = caller.organization.id

/** A story in which every event of a mandate's own life occurs, and some of authorizations. */
const story = Effect.gen(function* () {
  yield* fromTheStart
  const consumed = (yield* caller.create(singleBody())).resource.id
  yield* caller.approve(consumed)
  const first = (yield* caller.propose(consumed, proposalBody(1))).resource
  yield* caller.cancel(first.id, cancelReport())
  const second = (yield* caller.propose(consumed, proposalBody(2))).resource
  yield* caller.commit(second.id, commitReport(2))
  yield* caller.propose(consumed, proposalBody(3))
  const window = { starts_at: "2026-12-02T00:00:00Z", ends_at: "2026-12-03T00:00:00Z" }
  const scheduled = (yield* caller.create(singleBody({}, { window }))).resource.id
  yield* caller.approve(scheduled)
  yield* caller.reject((yield* caller.create()).resource.id)
  yield* caller.revoke((yield* caller.create()).resource.id)
  yield* setTo("2026-12-04T00:00:00Z")
  yield* caller.read(scheduled)
})

describe("the body of an event's webhooks", () => {
  it.effect("is the same whether it is made with the event or from what the feed shows of it", () =>
    Effect.gen(function* () {
      const store = yield* MandateStore
      const made = new Map<string, string>()
      yield* story.pipe(
        Effect.provideService(MandateStore, {
          ...store,
          append: (change) =>
            Effect.tap(store.append(change), () =>
              Effect.sync(() => {
                for (const { id, notification } of change.events) made.set(id, notification)
              })
            )
        })
      )
      const { data } = yield* readEventFeed({ organization, limit: 100 })
      const events = data.map((text) => JSON.parse(text))
      assert.deepStrictEqual(
        events.map((event) => notificationOf(event)),
        events.map(({ id }) => made.get(id))
      )
      const states = events.map((event) => JSON.parse(notificationOf(event)).data.state)
      assert.deepStrictEqual([...new Set(states)].sort(), [
        "ACTIVE",
        "CONSUMED",
        "EXPIRED",
        "PENDING_APPROVAL",
        "REJECTED",
        "REVOKED",
        "SCHEDULED",
        undefined
      ])
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
