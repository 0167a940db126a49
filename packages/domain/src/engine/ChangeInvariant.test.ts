import { assert, describe, it } from "@effect/vitest"
import {
  claimOf,
  createdChange,
  followingChange,
  newAuthorization,
  newIdentifier,
  newSession,
  newSubject,
  revokedFact
} from "@svc/testkit/StoreFixtures"
import { at } from "../../test/MandateStory.ts"
import type { StreamHead } from "../mandate/MandateState.ts"
import type { StreamChange } from "../ports/MandateStore.ts"
import { brokenInvariant, isSameHead } from "./ChangeInvariant.ts"

const NOW = at("2026-12-01T00:00:00Z")
const first = createdChange(
  { organization: newIdentifier("org_"), mandate: newIdentifier("mnd_"), subjectReference: "user_8f2" },
  NOW
)
const { headAfter, mandateState, organization } = first

const current = {
  now: NOW,
  stream: {
    organization,
    revision: 1,
    head: headAfter,
    state: { mandate: mandateState, open: [], authorizations: new Map() }
  }
}
const next = followingChange(current, [revokedFact(NOW), revokedFact(NOW + 1n)])
const quiet = followingChange(current, [])
const session = newSession(current)
const claim = claimOf("commitment", "one")
const subjectOf = (reference: string) => ({ reference, expected: 1, next: newSubject() })

const eventsWith = (index: number, parts: Partial<StreamChange["events"][number]>): StreamChange => ({
  ...next,
  events: next.events.map((event, place) => (place === index ? { ...event, ...parts } : event))
})

describe("a change of a stream", () => {
  const sound: Readonly<Record<string, StreamChange>> = {
    "the first of a stream": first,
    "two events that follow the head": next,
    "no event": quiet,
    "sessions, passkeys and claims of its own": {
      ...next,
      sessions: [session],
      subject: subjectOf("user_8f2"),
      claims: [claim, { ...claim, name: "two" }, { ...claim, kind: "assertion" }]
    }
  }
  for (const [title, change] of Object.entries(sound)) {
    it(`may be ${title}`, () => assert.isUndefined(brokenInvariant(change)))
  }

  const terms = mandateState.terms
  const rows: Readonly<Record<string, ReadonlyArray<StreamChange>>> = {
    "the snapshot is of another mandate": [
      { ...next, mandateState: { ...mandateState, terms: { ...terms, mandate_id: newIdentifier("mnd_") } } },
      { ...next, organization: newIdentifier("org_") }
    ],
    "a session is of another mandate": [
      { ...next, sessions: [session, { ...session, mandateId: newIdentifier("mnd_") }] },
      { ...next, sessions: [session, { ...session, organizationId: newIdentifier("org_") }] }
    ],
    "the subject is not the mandate's": [{ ...next, subject: subjectOf("user_8f3") }],
    "a claim is made twice": [{ ...next, claims: [claim, { ...claim, fingerprint: "another" }] }],
    "a stream begins with an event": [{ ...first, events: [] }],
    "the events do not follow the head": [
      { ...next, events: next.events.slice(1) },
      { ...next, events: next.events.toReversed() },
      { ...next, headBefore: { ...headAfter, seq: 2 } }
    ],
    "the events are not chained to the head": [
      { ...next, headBefore: { ...headAfter, hash: "another" } },
      eventsWith(1, { previousHash: "another" })
    ],
    "an event differs from its text": [eventsWith(0, { id: newIdentifier("evt_") })],
    "an event lies before the one that it follows": [
      followingChange(current, [revokedFact(headAfter.occurredAt - 1n)]),
      followingChange(current, [revokedFact(NOW + 1n), revokedFact(NOW)])
    ],
    "the head is not where the events lead": [
      { ...next, headAfter: { ...next.headAfter, seq: 4 } },
      { ...next, headAfter: { ...next.headAfter, bytes: next.headAfter.bytes + 1 } },
      { ...next, headAfter },
      { ...quiet, headAfter: next.headAfter }
    ]
  }
  for (const [fault, changes] of Object.entries(rows)) {
    it(`is broken where ${fault}`, () => {
      for (const change of changes) assert.strictEqual(brokenInvariant(change), fault)
    })
  }
})

describe("two ends of streams", () => {
  it("are the same if every member is, and so is the absence of both", () => {
    assert.isTrue(isSameHead(headAfter, { ...headAfter }))
    assert.isTrue(isSameHead(undefined, undefined))
    assert.isFalse(isSameHead(headAfter, undefined))
    assert.isFalse(isSameHead(undefined, headAfter))
    const others: ReadonlyArray<Partial<StreamHead>> = [
      { seq: headAfter.seq + 1 },
      { hash: "another" },
      { occurredAt: headAfter.occurredAt + 1n },
      { bytes: headAfter.bytes + 1 }
    ]
    for (const other of others) assert.isFalse(isSameHead(headAfter, { ...headAfter, ...other }))
  })
})

describe("an authorization of a change", () => {
  it("expires at some instant where it is reserved, and in no other state must", () => {
    const { expiresAt: _, ...endless } = newAuthorization(1, NOW)
    const faultOf = (authorization: typeof endless) =>
      brokenInvariant({ ...quiet, authorizations: [authorization] })
    assert.strictEqual(faultOf(endless), "a reservation has no instant at which it expires")
    assert.isUndefined(faultOf({ ...endless, state: "DENIED", decision: "DENY" }))
    assert.isUndefined(faultOf(newAuthorization(1, NOW)))
  })
})
