import { assert, describe, it } from "@effect/vitest"
import { claimOf, createdChange, newIdentifier, newSubject } from "@svc/testkit/StoreFixtures"
import { at } from "../../test/MandateStory.ts"
import type { StreamChange } from "../ports/MandateStore.ts"
import { type RecordedPlace, refusalOf } from "./ChangeAdmission.ts"

const NOW = at("2026-12-01T00:00:00Z")
const place: RecordedPlace = {
  now: NOW,
  revision: undefined,
  subjectRevision: undefined,
  head: undefined,
  holderOf: () => undefined
}
const key = claimOf("idempotency_key", "key_1")
const commitment = claimOf("commitment", "commitment_1")
const change = createdChange(
  { organization: newIdentifier("org_"), mandate: newIdentifier("mnd_"), subjectReference: "user_8f2" },
  NOW,
  { claims: [key, commitment] }
)
const enrolling: StreamChange = {
  ...change,
  subject: { reference: "user_8f2", expected: 3, next: newSubject() }
}
const holder = { fingerprint: "other input", resource: newIdentifier("mnd_") }
const held: Partial<RecordedPlace> = { holderOf: ({ kind }) => (kind === "commitment" ? holder : undefined) }

/** The refusal by its tag, and of a claim what is held and by whom. */
const told = (refusal: ReturnType<typeof refusalOf>): unknown =>
  refusal?._tag === "ClaimTaken" ? [refusal.kind, refusal.name, refusal.holder] : refusal?._tag

describe("a change that a store is to record", () => {
  const rows: Readonly<Record<string, readonly [StreamChange, Partial<RecordedPlace>, unknown]>> = {
    "a new stream": [change, {}, undefined],
    "a stream that is there already": [change, { revision: 1 }, "Stale"],
    "an older revision than the recorded one": [{ ...change, expected: 1 }, { revision: 2 }, "Stale"],
    "passkeys of another revision": [enrolling, { subjectRevision: 4 }, "Stale"],
    "passkeys that are not there yet": [enrolling, {}, "Stale"],
    "passkeys as they were loaded": [enrolling, { subjectRevision: 3 }, undefined],
    "the last instant to record it": [change, { now: change.recordBefore - 1n }, undefined],
    "the instant after": [change, { now: change.recordBefore }, "OutOfTime"],
    "a claim that is held": [change, held, ["commitment", "commitment_1", holder]],
    "a claim that is held, too late": [change, { ...held, now: change.recordBefore }, "OutOfTime"],
    "everything at once": [change, { ...held, now: change.recordBefore, revision: 1 }, "Stale"]
  }
  for (const [title, [given, parts, expected]] of Object.entries(rows)) {
    it(title, () => assert.deepStrictEqual(told(refusalOf(given, { ...place, ...parts })), expected))
  }

  it("throws where its events do not follow what is recorded, which no caller can mend", () => {
    const recorded = { ...place, head: change.headAfter }
    assert.throws(() => refusalOf(change, recorded), "cannot be recorded: the events do not follow the head")
    const broken = { ...change, claims: [key, key] }
    assert.throws(() => refusalOf(broken, place), "cannot be recorded: a claim is made twice")
  })
})
