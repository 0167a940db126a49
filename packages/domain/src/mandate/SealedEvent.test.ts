import { assert, describe, it } from "@effect/vitest"
import { eventHash } from "@svc/protocol/evidence/EventHash"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import type { JsonObject } from "@svc/protocol/json/Json"
import {
  after,
  approve,
  at,
  authorizationId,
  commit,
  created,
  propose,
  SECOND,
  STARTS,
  single,
  until
} from "../../test/MandateStory.ts"
import { evolve } from "./Evolve.ts"
import type { JournalFact } from "./JournalFact.ts"
import type { StreamHead, StreamState } from "./MandateState.ts"
import { agreesWithText, type SealedEvent, sealEvent } from "./SealedEvent.ts"

const story = after(
  after(
    until(after(created(single({ description: "Bücher 📚" })), approve, at("2026-11-29T00:00:00Z")), STARTS),
    propose(1),
    STARTS
  ),
  commit(1),
  STARTS + SECOND
)

const sealAll = (facts: ReadonlyArray<JournalFact>): ReadonlyArray<SealedEvent> => {
  const events: Array<SealedEvent> = []
  let head: StreamHead | undefined
  let state: StreamState | undefined
  for (const [index, fact] of facts.entries()) {
    state = evolve(state, fact)
    const id = `evt_0000000000000000000000000${index}`
    const next = sealEvent(head, fact, { id, mandate: state.mandate })
    assert.strictEqual(
      next.head.bytes,
      (head?.bytes ?? 0) + new TextEncoder().encode(next.sealed.text).length
    )
    events.push(next.sealed)
    head = next.head
  }
  return events
}

const sealedStory = () => {
  const events = sealAll(story.facts)
  return { events, parsed: events.map((event) => JSON.parse(event.text) as JsonObject) }
}

describe("sealed events", () => {
  it("are numbered from 1 without gaps and chained from the first, which has no previous hash", () => {
    const { parsed } = sealedStory()
    assert.deepStrictEqual(
      parsed.map(({ seq }) => seq),
      [1, 2, 3, 4, 5, 6]
    )
    assert.notProperty(parsed[0], "previous_hash")
    for (const [index, event] of parsed.slice(1).entries()) {
      assert.strictEqual(event.previous_hash, parsed[index]?.hash)
    }
  })

  it("have exactly the members of part 7, and their own hash over the rest", () => {
    const { events, parsed } = sealedStory()
    for (const [index, event] of parsed.entries()) {
      const { hash, ...rest } = event
      assert.strictEqual(hash, eventHash(rest))
      assert.sameMembers(Object.keys(event), [
        "seq",
        "id",
        "type",
        "occurred_at",
        "source",
        "mandate_version",
        "data",
        "hash",
        ...(index === 0 ? [] : ["previous_hash"]),
        ...(String(event.type).startsWith("authorization.") ? ["authorization_id"] : [])
      ])
      assert.strictEqual(events[index]?.text, canonicalJson(event))
    }
  })

  it("say who vouches for them, and the version once they are applied", () => {
    const { events, parsed } = sealedStory()
    assert.deepStrictEqual(
      parsed.map(({ type, source, mandate_version }) => [type, source, mandate_version]),
      [
        ["mandate.created", "SERVICE_VERIFIED", 1],
        ["mandate.approved", "SERVICE_VERIFIED", 2],
        ["mandate.activated", "SERVICE_VERIFIED", 3],
        ["authorization.reserved", "SERVICE_VERIFIED", 3],
        ["authorization.committed", "CALLER_REPORTED", 3],
        ["mandate.consumed", "SERVICE_VERIFIED", 4]
      ]
    )
    assert.strictEqual(events[4]?.authorizationId, authorizationId(1))
    assert.notProperty(events[5], "authorizationId")
  })

  it("have nine digits of a second", () => {
    const { parsed } = sealedStory()
    for (const { occurred_at } of parsed) assert.match(String(occurred_at), /:\d\d\.\d{9}Z$/)
  })

  it("have a notification that says what the fold leaves the mandate in, and of an authorization no state (part 8)", () => {
    const { events } = sealedStory()
    assert.deepStrictEqual(
      events.map(({ notification }) => JSON.parse(notification).data.state),
      ["PENDING_APPROVAL", "SCHEDULED", "ACTIVE", undefined, undefined, "CONSUMED"]
    )
    assert.strictEqual(
      events[3]?.notification,
      canonicalJson({
        id: events[3]!.id,
        type: "authorization.reserved",
        occurred_at: events[3]!.occurredAt,
        data: {
          mandate_id: story.stream.mandate.terms.mandate_id,
          authorization_id: authorizationId(1),
          version: 3
        }
      })
    )
  })

  it("agree with their text, and with no other", () => {
    const { events } = sealedStory()
    for (const event of events) {
      assert.isTrue(agreesWithText(event))
      const others: ReadonlyArray<Partial<SealedEvent>> = [
        { seq: event.seq + 1 },
        { id: "evt_00000000000000000000000009" },
        { type: "mandate.revoked" },
        { occurredAt: "2026-11-29T00:00:00.000000001Z" },
        { mandateVersion: event.mandateVersion + 1 },
        { hash: "another" },
        { previousHash: "another" },
        { text: event.text.slice(0, -1) }
      ]
      for (const other of others) assert.isFalse(agreesWithText({ ...event, ...other }))
    }
  })
})
