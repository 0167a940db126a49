import { MandateStore, type StreamChange, type UniqueClaim } from "@svc/domain/ports/MandateStore"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  type ChangeParts,
  type Current,
  claimOf,
  createdChange,
  DAY,
  followingChange,
  HOUR,
  newAuthorization,
  newDigest,
  newIdentifier,
  newPasskey,
  newSession,
  newSubject,
  reservingChange,
  revokedFact
} from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { refused, refusedWith, rejectedAsFault } from "./Refused.ts"
import {
  appendAndLoad,
  loadCurrent,
  newPlace,
  observe,
  recordMandate,
  type StoreClock,
  type StoreIt,
  storeNow
} from "./StoreUnderTest.ts"

/** A mandate with an open authorization, a session and a subject: something of every kind to be changed. */
const recordFullMandate = Effect.gen(function* () {
  const current = yield* recordMandate()
  return yield* appendAndLoad(
    reservingChange(current, [newAuthorization(1, current.now)], {
      sessions: [newSession(current)],
      subject: {
        reference: current.stream.state.mandate.terms.subject_reference,
        expected: "absent",
        next: newSubject()
      }
    })
  )
})

/** A change of everything that a change can hold. */
const fullChange = (current: Current, parts: ChangeParts = {}): StreamChange => {
  const { now, stream } = current
  const { mandate } = stream.state
  return reservingChange(current, [newAuthorization(2, now)], {
    mandateState: { ...mandate, state: "ACTIVE", version: mandate.version + 1, authorizationCount: 2 },
    nextDue: now - HOUR,
    sessions: [{ ...stream.session!, state: "SUPERSEDED" }, newSession(current)],
    subject: {
      reference: mandate.terms.subject_reference,
      expected: stream.subject!.revision,
      next: newSubject({ revision: stream.subject!.revision + 1, passkeys: [newPasskey()] })
    },
    claims: (["idempotency_key", "commitment", "assertion"] as const).map((kind) =>
      claimOf(kind, newDigest())
    ),
    ...parts
  })
}

/** Claims that are held already, by a mandate of the same organization. */
const recordHeldClaims = Effect.fn("recordHeldClaims")(function* (organization: string) {
  const claims = [
    claimOf("commitment", newDigest()),
    claimOf("idempotency_key", `POST ${newDigest()}`)
  ] as const
  yield* recordMandate({ organization }, () => ({ claims }))
  return claims
})

const retaken = (claim: UniqueClaim): UniqueClaim => claimOf(claim.kind, claim.name)

export const appendContract = (it: StoreIt, clock: StoreClock): void => {
  it.describe("append", () => {
    it.effect("counts revisions from 1, those without events too", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const change = createdChange(newPlace(), yield* storeNow)
        assert.deepStrictEqual(yield* store.append(change), { revision: 1 })
        const first = yield* loadCurrent(change)
        assert.strictEqual(first.stream.revision, 1)
        assert.deepStrictEqual(yield* store.append(followingChange(first, [])), { revision: 2 })
        const second = yield* loadCurrent(change)
        assert.strictEqual(second.stream.revision, 2)
        assert.deepStrictEqual(second.stream.head, change.headAfter)
        const third = followingChange(second, [revokedFact(second.now)])
        assert.deepStrictEqual(yield* store.append(third), { revision: 3 })
        assert.deepStrictEqual((yield* loadCurrent(change)).stream.head, third.headAfter)
      })
    )

    it.effect("takes several events at once", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const facts = ["one", "two", "three"].map((reason) => revokedFact(current.now, reason))
        const change = followingChange(current, facts)
        const after = yield* appendAndLoad(change)
        assert.strictEqual(after.stream.head.seq, 4)
        assert.strictEqual(after.stream.revision, 2)
        const range = { ...change, afterSeq: 1, uptoSeq: 4, limit: 10 }
        assert.deepStrictEqual(
          yield* store.journal(range),
          change.events.map(({ text }) => text)
        )
      })
    )

    const stale: ReadonlyArray<readonly [string, (current: Current) => ChangeParts]> = [
      ["absent", () => ({ expected: "absent" })],
      ["the revision before", ({ stream }) => ({ expected: stream.revision - 1 })],
      ["the revision after", ({ stream }) => ({ expected: stream.revision + 1 })]
    ]
    for (const [expected, parts] of stale) {
      it.effect(`is Stale when it expects ${expected} and leaves no trace`, () =>
        Effect.gen(function* () {
          const store = yield* MandateStore
          const current = yield* recordFullMandate
          const change = fullChange(current, parts(current))
          const before = yield* observe(change)
          yield* refusedWith("Stale", "append", store.append(change))
          assert.deepStrictEqual(yield* observe(change), before)
        })
      )
    }

    it.effect("is Stale when it expects a stream that is absent", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const change = createdChange(newPlace(), yield* storeNow, { expected: 1 })
        yield* refusedWith("Stale", "append", store.append(change))
        assert.isUndefined((yield* observe(change)).stream)
      })
    )

    for (const shift of [-1, 1, "absent"] as const) {
      it.effect(`is Stale when the subject is at another revision (${shift}) and leaves no trace`, () =>
        Effect.gen(function* () {
          const store = yield* MandateStore
          const current = yield* recordFullMandate
          const right = fullChange(current)
          const expected = shift === "absent" ? shift : current.stream.subject!.revision + shift
          const change: StreamChange = { ...right, subject: { ...right.subject!, expected } }
          const before = yield* observe(change)
          yield* refusedWith("Stale", "append", store.append(change))
          assert.deepStrictEqual(yield* observe(change), before)
        })
      )
    }

    it.effect("is OutOfTime once recordBefore has come, and leaves no trace", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordFullMandate
        for (const ago of [0n, 1n, HOUR]) {
          const change = fullChange(current, { recordBefore: current.now - ago })
          const before = yield* observe(change)
          yield* refusedWith("OutOfTime", "append", store.append(change))
          assert.deepStrictEqual(yield* observe(change), before)
        }
        const created = createdChange(newPlace(), current.now, { recordBefore: current.now })
        yield* refusedWith("OutOfTime", "append", store.append(created))
        assert.isUndefined((yield* observe(created)).stream)
      })
    )

    if (clock === "test") {
      it.effect("reads its clock again: recorded just before recordBefore, refused at it", () =>
        Effect.gen(function* () {
          const store = yield* MandateStore
          const current = yield* recordFullMandate
          const recordBefore = current.now + NANOS_PER_SECOND
          yield* TestClock.adjust("999999999 nanos")
          const after = yield* appendAndLoad(followingChange(current, [], { recordBefore }))
          yield* TestClock.adjust("1 nanos")
          const late = followingChange(after, [], { recordBefore })
          yield* refusedWith("OutOfTime", "append", store.append(late))
        })
      )
    }

    it.effect("names the holder when a claim is taken, and leaves no trace", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordFullMandate
        const [held] = yield* recordHeldClaims(current.stream.organization)
        const right = fullChange(current)
        const change: StreamChange = { ...right, claims: [...right.claims, retaken(held)] }
        const before = yield* observe(change)
        const refusal = yield* refused("append", store.append(change))
        assert(refusal._tag === "ClaimTaken")
        assert.deepStrictEqual([refusal.kind, refusal.name], ["commitment", held.name])
        assert.deepStrictEqual(refusal.holder, { fingerprint: held.fingerprint, resource: held.resource })
        assert.deepStrictEqual(yield* observe(change), before)
        // None of its claims was left behind, since the same change without the fault is recorded.
        assert.deepStrictEqual(yield* store.append(right), { revision: current.stream.revision + 1 })
        assert.notDeepEqual(yield* observe(right), before)
      })
    )

    it.effect("records no mandate whose claim is taken", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const place = newPlace()
        const [, key] = yield* recordHeldClaims(place.organization)
        const change = createdChange(place, yield* storeNow, {
          claims: [claimOf("commitment", newDigest()), retaken(key)]
        })
        const before = yield* observe(change)
        yield* refusedWith("ClaimTaken", "append", store.append(change))
        assert.deepStrictEqual(yield* observe(change), before)
        assert.isUndefined(before.stream)
      })
    )

    it.effect("refuses in the order stream, subject, time, claims", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordFullMandate
        const { now, stream } = current
        const [commitment, key] = yield* recordHeldClaims(stream.organization)
        const subject = { reference: stream.state.mandate.terms.subject_reference, next: newSubject() }
        const late = { recordBefore: now, claims: [retaken(key), retaken(commitment)] }
        const refusal = (parts: ChangeParts) =>
          refused("append", store.append(followingChange(current, [], parts)))
        const staleSubject = { ...subject, expected: 7 }
        assert.strictEqual((yield* refusal({ ...late, expected: 9 }))._tag, "Stale")
        assert.strictEqual((yield* refusal({ ...late, subject: staleSubject }))._tag, "Stale")
        assert.strictEqual((yield* refusal({ claims: late.claims, subject: staleSubject }))._tag, "Stale")
        assert.strictEqual((yield* refusal(late))._tag, "OutOfTime")
        const first = yield* refusal({ claims: late.claims })
        assert.strictEqual(first._tag === "ClaimTaken" && first.kind, "idempotency_key")
        const other = yield* refusal({ claims: late.claims.toReversed() })
        assert.strictEqual(other._tag === "ClaimTaken" && other.kind, "commitment")
      })
    )

    const broken: ReadonlyArray<readonly [string, (current: Current) => StreamChange]> = [
      [
        "leave a gap in the journal",
        (current) => {
          const change = followingChange(current, [revokedFact(current.now), revokedFact(current.now)])
          return { ...change, events: change.events.slice(1) }
        }
      ],
      [
        "repeat an event",
        (current) => {
          const { head } = current.stream
          const stream = { ...current.stream, head: { ...head, seq: head.seq - 1 } }
          return followingChange({ ...current, stream }, [revokedFact(current.now)])
        }
      ],
      [
        "are not chained to the head",
        (current) => {
          const stream = { ...current.stream, head: { ...current.stream.head, hash: newDigest() } }
          return followingChange({ ...current, stream }, [revokedFact(current.now)])
        }
      ],
      ...(["bytes", "occurredAt"] as const).map(
        (member) =>
          [
            `follow a head with other ${member}`,
            (current: Current) => {
              const { head } = current.stream
              const other = { ...head, [member]: member === "bytes" ? head.bytes + 1 : head.occurredAt - 1n }
              const stream = { ...current.stream, head: other }
              return followingChange({ ...current, stream }, [revokedFact(current.now)])
            }
          ] as const
      ),
      [
        "lead to another head",
        (current) => {
          const change = followingChange(current, [revokedFact(current.now)])
          return { ...change, headAfter: { ...change.headAfter, hash: newDigest() } }
        }
      ],
      [
        "move the head without an event",
        (current) => {
          const change = followingChange(current, [])
          return { ...change, headAfter: { ...change.headAfter, bytes: change.headAfter.bytes + 1 } }
        }
      ],
      [
        "turn time back",
        (current) => followingChange(current, [revokedFact(current.stream.head.occurredAt - 1n)])
      ],
      [
        "carry another mandate's snapshot",
        (current) => {
          const change = followingChange(current, [])
          const terms = { ...change.mandateState.terms, mandate_id: newIdentifier("mnd_") }
          return { ...change, mandateState: { ...change.mandateState, terms } }
        }
      ],
      [
        "carry another mandate's session",
        (current) =>
          followingChange(current, [], {
            sessions: [newSession(current, { mandateId: newIdentifier("mnd_") })]
          })
      ],
      [
        "carry another subject's passkeys",
        (current) =>
          followingChange(current, [], {
            subject: { reference: "somebody else", expected: "absent", next: newSubject() }
          })
      ],
      [
        "make one claim twice",
        (current) => {
          const claim = claimOf("commitment", newDigest())
          return followingChange(current, [], { claims: [claim, claim] })
        }
      ],
      [
        "say of an event what its text does not",
        (current) => {
          const change = followingChange(current, [revokedFact(current.now)])
          return {
            ...change,
            events: change.events.map((event) => ({ ...event, id: newIdentifier("evt_") }))
          }
        }
      ],
      [
        "hold a reservation that never expires",
        (current) => {
          const { expiresAt: _, ...endless } = newAuthorization(1, current.now)
          return followingChange(current, [], { authorizations: [endless] })
        }
      ]
    ]
    for (const [fault, changeOf] of broken) {
      it.effect(`dies of changes that ${fault}, and records nothing`, () =>
        Effect.gen(function* () {
          const store = yield* MandateStore
          const change = changeOf(yield* recordMandate())
          const before = yield* observe(change)
          yield* rejectedAsFault(fault, "append", store.append(change))
          assert.deepStrictEqual(yield* observe(change), before)
        })
      )
    }

    it.effect("never answers with a now before the head's occurred_at", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { now, stream } = yield* recordMandate({}, (at) => ({ occurredAt: at + DAY }))
        assert.strictEqual(now, stream.head.occurredAt)
        const { organization } = stream
        const mandate = stream.state.mandate.terms.mandate_id
        const list = yield* store.listAuthorizations({ organization, mandate, limit: 1 })
        assert.strictEqual(list?.now, stream.head.occurredAt)
        assert.isBelow(Number((yield* storeNow) - now), 0)
      })
    )
  })
}
