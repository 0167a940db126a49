import { applyDue } from "@svc/domain/mandate/ApplyDue"
import { evolveAll } from "@svc/domain/mandate/Evolve"
import type { JournalFact } from "@svc/domain/mandate/JournalFact"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { verifyEventHash } from "@svc/protocol/evidence/EventHash"
import { formatNanos } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import {
  followingChange,
  instantOf,
  newAuthorization,
  newIdentifier,
  reservedFact,
  reservingChange,
  revokedFact
} from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { appendAndLoad, recordMandate, type StoreIt } from "./StoreUnderTest.ts"

const REASONS = [
  "plain",
  "\u{1f600}\u{1d4b3}\u{10ffff}",
  "\ufb33 and \u05d3\u05bc",
  "\u0001\b\t\n\f\r\u001f\u007f\u0080",
  '"quoted" \\ back / slash',
  "\u2028\u2029\ufeff\u200b",
  "\u00e9 e\u0301 \u1e9e",
  "$1 ?1 %s '' -- \\x00 E'\\\\'",
  "long ".repeat(50_000)
]

/** A reservation as releases recorded it that did not write the grace down. */
const withoutGrace = (fact: JournalFact): JournalFact => {
  if (fact.type !== "authorization.reserved") return fact
  const { report_grace_seconds: _, ...data } = fact.data
  return { ...fact, data }
}

export const journalContract = (it: StoreIt): void => {
  it.describe("journal", () => {
    it.effect("keeps every text byte for byte", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const facts = REASONS.map((reason) => revokedFact(current.now, reason))
        const change = followingChange(current, facts)
        const { stream } = yield* appendAndLoad(change)
        const texts = yield* store.journal({ ...change, afterSeq: 0, uptoSeq: 99, limit: 99 })
        assert.strictEqual(texts.length, REASONS.length + 1)
        for (const [index, event] of change.events.entries()) {
          assert.isTrue(texts[index + 1] === event.text, `event ${event.seq}`)
        }
        assert.isTrue(texts.every((text) => verifyEventHash(JSON.parse(text))))
        const bytes = texts.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0)
        assert.strictEqual(stream.head.bytes, bytes)
      })
    )

    it.effect("answers ranges, ascending", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const change = followingChange(
          current,
          Array.from({ length: 11 }, () => revokedFact(current.now))
        )
        yield* store.append(change)
        const seqs = (afterSeq: number, uptoSeq: number, limit: number) =>
          Effect.map(store.journal({ ...change, afterSeq, uptoSeq, limit }), (texts) =>
            texts.map((text) => JSON.parse(text).seq)
          )
        assert.deepStrictEqual(yield* seqs(0, 12, 100), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        assert.deepStrictEqual(yield* seqs(0, 3, 100), [1, 2, 3])
        assert.deepStrictEqual(yield* seqs(8, 11, 100), [9, 10, 11])
        assert.deepStrictEqual(yield* seqs(8, 99, 100), [9, 10, 11, 12])
        assert.deepStrictEqual(yield* seqs(2, 99, 3), [3, 4, 5])
        assert.deepStrictEqual(yield* seqs(2, 4, 3), [3, 4])
        assert.deepStrictEqual(yield* seqs(12, 99, 100), [])
        assert.deepStrictEqual(yield* seqs(5, 5, 100), [])
      })
    )

    it.effect("a range up to a known head stays the same while the stream goes on", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const change = followingChange(current, [revokedFact(current.now)])
        const after = yield* appendAndLoad(change)
        const range = { ...change, afterSeq: 0, uptoSeq: 2, limit: 100 }
        const before = yield* store.journal(range)
        yield* store.append(followingChange(after, [revokedFact(after.now)]))
        assert.deepStrictEqual(yield* store.journal(range), before)
      })
    )

    it.effect("of an earlier release, whose decisions lack report_grace_seconds, loads and goes on", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const authorization = newAuthorization(1, current.now)
        const { authorizations, mandateState } = reservingChange(current, [authorization])
        const facts = [withoutGrace(reservedFact(authorization, current.now))]
        const change = followingChange(current, facts, { authorizations, mandateState })
        yield* store.append(change)
        const { organization, mandate } = change
        const loaded = yield* store.load({
          organization,
          stream: { mandate },
          authorizations: [authorization.id]
        })
        const texts = yield* store.journal({ ...change, afterSeq: 0, uptoSeq: 99, limit: 99 })
        assert.isTrue(texts.every((text) => verifyEventHash(JSON.parse(text))))
        assert.notInclude(texts[1] ?? "", "report_grace_seconds")
        const folded = [...evolveAll(texts.map((text) => JSON.parse(text)))].at(-1)
        assert.strictEqual(folded?.authorizations.get(authorization.id)?.expiresAt, authorization.expiresAt)
        const expiresAt = instantOf(authorization.expiresAt ?? "")
        const dueAt = (instant: bigint) => applyDue(loaded.stream!.state, instant).facts
        assert.deepStrictEqual(dueAt(expiresAt - 1n), [])
        const [expiry] = dueAt(expiresAt)
        assert(expiry?.type === "authorization.expired")
        assert.deepStrictEqual(
          [expiry.occurred_at, expiry.authorization_id],
          [formatNanos(expiresAt), authorization.id]
        )
      })
    )

    it.effect("is empty for an absent mandate", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { stream } = yield* recordMandate()
        const range = { organization: stream.organization, afterSeq: 0, uptoSeq: 9, limit: 9 }
        assert.deepStrictEqual(yield* store.journal({ ...range, mandate: newIdentifier("mnd_") }), [])
      })
    )
  })
}
