import { assert, describe, it } from "@effect/vitest"
import type { FeedEvent } from "@svc/protocol/Journal"
import { cancelReport, commitReport, makeCaller, proposalBody, singleBody } from "@svc/testkit/ProgramHarness"
import { Effect } from "effect"
import { evolve } from "../src/mandate/Evolve.ts"
import type { JournalFact } from "../src/mandate/JournalFact.ts"
import type { StreamState } from "../src/mandate/MandateState.ts"
import { readEventFeed } from "../src/programs/EventFeed.ts"
import { webhookBodyOfFeedEvent } from "../src/webhook/FeedEventBody.ts"
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

/** What each event must say of its mandate: where the journal, folded up to it, has led to. */
const saidByFold = (events: ReadonlyArray<FeedEvent>) => {
  const streams = new Map<string, StreamState>()
  return events.map((event) => {
    const fact = event as unknown as JournalFact
    const { mandate, ...stream } = evolve(streams.get(event.mandate_id), fact)
    streams.set(event.mandate_id, { mandate, ...stream })
    return {
      mandate_id: event.mandate_id,
      ...("authorization_id" in fact
        ? { authorization_id: fact.authorization_id }
        : { state: mandate.state }),
      version: mandate.version
    }
  })
}

describe("the body of an event's webhooks, from the feed alone", () => {
  it.effect("says what the fold of the journal up to the event does", () =>
    Effect.gen(function* () {
      yield* story
      const { data } = yield* readEventFeed({ organization, limit: 100 })
      const events = data.map((text): FeedEvent => JSON.parse(text))
      const said = events.map((event) => JSON.parse(webhookBodyOfFeedEvent(event)).data)
      assert.deepStrictEqual(said, saidByFold(events))
      assert.deepStrictEqual([...new Set(said.map(({ state }) => state))].sort(), [
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
