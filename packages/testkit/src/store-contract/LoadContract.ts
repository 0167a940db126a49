import { openReservationOf } from "@svc/domain/mandate/OpenReservation"
import { type ClaimName, MandateStore } from "@svc/domain/ports/MandateStore"
import { formatInstant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  claimOf,
  DAY,
  followingChange,
  HOUR,
  instantOf,
  newAuthorization,
  newDigest,
  newIdentifier,
  reservingChange
} from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { appendAndLoad, recordMandate, type StoreClock, type StoreIt, storeNow } from "./StoreUnderTest.ts"

/** A mandate with authorizations 1 to 4, of which 1 and 3 are open and far from their end. */
const recordAuthorizations = Effect.gen(function* () {
  const current = yield* recordMandate()
  const rows = [
    newAuthorization(1, current.now),
    newAuthorization(2, current.now, { state: "COMMITTED" }),
    newAuthorization(3, current.now),
    newAuthorization(4, current.now, { state: "DENIED", decision: "DENY" })
  ]
  const after = yield* appendAndLoad(reservingChange(current, rows))
  const { organization } = after.stream
  return { current: after, organization, mandate: after.stream.state.mandate.terms.mandate_id, rows }
})

export const loadContract = (it: StoreIt, clock: StoreClock): void => {
  it.describe("load", () => {
    it.effect("gives the clock alone where there is nothing", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const organization = newIdentifier("org_")
        const nowhere = [
          undefined,
          { mandate: newIdentifier("mnd_") },
          { mandate: "" },
          { mandate: "mnd_' OR '1'='1" },
          { authorization: newIdentifier("aut_") },
          { authorization: "\ud83d\ude00" },
          { approvalSession: newIdentifier("aps_") },
          { approvalTokenHash: newDigest() }
        ]
        for (const stream of nowhere) {
          const query = { organization, ...(stream === undefined ? {} : { stream }) }
          const loaded = yield* store.load({
            ...query,
            approval: true,
            claims: [claimOf("idempotency_key", "POST none")]
          })
          assert.deepStrictEqual(loaded, { now: loaded.now, held: [] })
        }
        const byToken = yield* store.load({ stream: { approvalTokenHash: newDigest() }, approval: true })
        assert.deepStrictEqual(byToken, { now: byToken.now, held: [] })
      })
    )

    it.effect("reads a clock that does not turn back", () =>
      Effect.gen(function* () {
        let last = yield* storeNow
        assert.isAbove(Number(last), Number(instantOf("2025-01-01T00:00:00Z")))
        for (let round = 0; round < 20; round++) {
          const now = yield* storeNow
          assert.isTrue(now >= last)
          last = now
        }
        if (clock === "test") {
          yield* TestClock.adjust("1500000001 nanos")
          assert.strictEqual(yield* storeNow, last + 1_500_000_001n)
        }
      })
    )

    it.effect("by mandate: the open reservations in order, and no authorization in full", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { mandate, organization, rows } = yield* recordAuthorizations
        const { stream } = yield* store.load({ organization, stream: { mandate } })
        assert.strictEqual(stream?.organization, organization)
        assert.deepStrictEqual(stream?.state.open, [openReservationOf(rows[0]!), openReservationOf(rows[2]!)])
        assert.strictEqual(stream?.state.authorizations.size, 0)
        assert.notProperty(stream, "session")
        assert.notProperty(stream, "subject")
      })
    )

    it.effect("by mandate, with authorizations named", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { mandate, organization, rows } = yield* recordAuthorizations
        for (const row of rows) {
          const { stream } = yield* store.load({
            organization,
            stream: { mandate },
            authorizations: [row.id]
          })
          assert.deepStrictEqual([...stream!.state.authorizations], [[row.id, row]])
        }
        const elsewhere = yield* recordAuthorizations
        const strays = [elsewhere.rows[0]!.id, newIdentifier("aut_"), "", "\ud83d\ude00\u0000"]
        for (const authorization of strays) {
          const query = { organization, stream: { mandate }, authorizations: [authorization] }
          assert.strictEqual((yield* store.load(query)).stream?.state.authorizations.size, 0)
        }
        const ids = rows.map(({ id }) => id)
        const all = { organization, stream: { mandate }, authorizations: [...strays, ...ids, ...ids] }
        const { stream } = yield* store.load(all)
        assert.deepStrictEqual(stream?.state.authorizations, new Map(rows.map((row) => [row.id, row])))
      })
    )

    it.effect("by authorization, whatever its state, with another one named", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { current, organization, rows } = yield* recordAuthorizations
        for (const row of rows) {
          const { stream } = yield* store.load({ organization, stream: { authorization: row.id } })
          assert.deepStrictEqual(stream?.head, current.stream.head)
          assert.deepStrictEqual([...stream!.state.authorizations], [[row.id, row]])
        }
        const [first, second] = [rows[0]!, rows[1]!]
        const { stream } = yield* store.load({
          organization,
          stream: { authorization: first.id },
          authorizations: [second.id, first.id]
        })
        assert.deepStrictEqual(
          stream?.state.authorizations,
          new Map([
            [first.id, first],
            [second.id, second]
          ])
        )
      })
    )

    it.effect("with claims: hit, miss, and beside a stream that is absent", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { current, mandate, organization } = yield* recordAuthorizations
        const key = claimOf("idempotency_key", `POST /v1/x ${newDigest()}`)
        const commitment = claimOf("commitment", newDigest())
        yield* store.append(followingChange(current, [], { claims: [key, commitment] }))
        const lookUp = (claims: ReadonlyArray<ClaimName>, at = mandate) =>
          store.load({ organization, stream: { mandate: at }, claims })
        const name = (claim: ClaimName, text = claim.name) => ({ kind: claim.kind, name: text })
        assert.deepStrictEqual((yield* lookUp([name(key)])).held, [key])
        assert.deepStrictEqual((yield* lookUp([name(key)])).stream?.revision, current.stream.revision + 1)
        assert.deepStrictEqual((yield* lookUp([name(commitment)])).held, [commitment])
        for (const miss of [name(key, `${key.name} `), name(key, commitment.name), name(key, "\u0000")]) {
          assert.deepStrictEqual((yield* lookUp([miss])).held, [])
          const { held } = yield* lookUp([miss, name(commitment), name(key)])
          assert.sameDeepMembers([...held], [key, commitment])
        }
        for (const claims of [[name(key)], [name(key), name(commitment)]]) {
          const found = [key, commitment].slice(0, claims.length)
          const beside = yield* lookUp(claims, newIdentifier("mnd_"))
          assert.sameDeepMembers([...beside.held], found)
          assert.notProperty(beside, "stream")
          assert.sameDeepMembers([...(yield* store.load({ organization, claims })).held], found)
        }
        assert.deepStrictEqual((yield* store.load({ organization, stream: { mandate } })).held, [])
      })
    )

    it.effect("open reservations whose end has come are there in full, others are not", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const { now } = current
        const rows = [
          newAuthorization(1, now, { expiresAt: formatInstant(now + HOUR) }),
          newAuthorization(2, now, { expiresAt: formatInstant(now - HOUR) }),
          newAuthorization(3, now, { expiresAt: formatInstant(now) }),
          newAuthorization(4, now, { expiresAt: formatInstant(now - HOUR), state: "EXPIRED" })
        ]
        const { stream } = yield* appendAndLoad(reservingChange(current, rows))
        const due = rows.slice(1, 3).map((row) => [row.id, row] as const)
        assert.deepStrictEqual(stream.state.authorizations, new Map(due))
        assert.deepStrictEqual(
          stream.state.open.map(({ order }) => order),
          [1, 2, 3]
        )
        const named = yield* store.load({
          organization: stream.organization,
          stream: { authorization: rows[3]!.id }
        })
        assert.deepStrictEqual(named.stream?.state.authorizations, new Map([...due, [rows[3]!.id, rows[3]!]]))
      })
    )

    it.effect("reservations are due by max(clock, occurred_at of the head)", () =>
      Effect.gen(function* () {
        const current = yield* recordMandate({}, (now) => ({ occurredAt: now + DAY }))
        const atHead = newAuthorization(1, current.now, { expiresAt: formatInstant(current.now) })
        const after = newAuthorization(2, current.now, { expiresAt: formatInstant(current.now + 1n) })
        const { stream } = yield* appendAndLoad(reservingChange(current, [atHead, after]))
        assert.deepStrictEqual([...stream.state.authorizations.keys()], [atHead.id])
      })
    )

    if (clock === "test") {
      it.effect("a reservation is due at the very nanosecond of its end", () =>
        Effect.gen(function* () {
          const current = yield* recordMandate()
          const expiresAt = formatInstant(current.now + NANOS_PER_SECOND)
          const row = newAuthorization(1, current.now, { expiresAt })
          const before = yield* appendAndLoad(reservingChange(current, [row]))
          assert.strictEqual(before.stream.state.authorizations.size, 0)
          yield* TestClock.adjust("999999999 nanos")
          const justBefore = yield* appendAndLoad(followingChange(before, []))
          assert.strictEqual(justBefore.stream.state.authorizations.size, 0)
          yield* TestClock.adjust("1 nanos")
          const { stream } = yield* appendAndLoad(followingChange(justBefore, []))
          assert.deepStrictEqual([...stream.state.authorizations.keys()], [row.id])
        })
      )
    }

    it.effect("a reservation that is closed is open no more, and others stay", () =>
      Effect.gen(function* () {
        const { current, rows } = yield* recordAuthorizations
        const closed = { ...rows[0]!, state: "CANCELLED" as const, closedAt: rows[0]!.createdAt }
        const { stream } = yield* appendAndLoad(followingChange(current, [], { authorizations: [closed] }))
        assert.deepStrictEqual(stream.state.open, [openReservationOf(rows[2]!)])
      })
    )

    it.effect("what was loaded is safe from whoever holds it, and so is what was appended", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { current, mandate, organization, rows } = yield* recordAuthorizations
        const read = store.load({ organization, stream: { mandate }, authorizations: [rows[0]!.id] })
        const before = structuredClone((yield* read).stream!)
        const tamper = (target: object, name: string, value: unknown): void => {
          try {
            Object.assign(target, { [name]: value })
          } catch (error) {
            assert.instanceOf(error, TypeError)
          }
        }
        const { stream } = yield* read
        tamper(stream!.state.mandate, "state", "REVOKED")
        tamper(stream!.state.mandate.totals, "committedAmount", 1n)
        tamper(stream!.state.open, "0", undefined)
        tamper(stream!.head, "seq", 99)
        tamper(stream!.state.authorizations.get(rows[0]!.id)!, "state", "COMMITTED")
        tamper(rows[0]!, "state", "COMMITTED")
        tamper(rows[0]!.proposedAction.payment, "amount", 1)
        const rest = stream!.state.authorizations as Map<string, unknown>
        rest.clear()
        tamper(current.stream.state.mandate, "version", 99)
        assert.deepStrictEqual((yield* read).stream, before)
      })
    )
  })
}
