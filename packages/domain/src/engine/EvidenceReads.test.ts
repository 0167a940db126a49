import { assert, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { EVIDENCE_READ_SECONDS, MAX_EVIDENCE_READS, makeEvidenceReads } from "./EvidenceReads.ts"

const begun = (reads: ReturnType<typeof makeEvidenceReads>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const isUnderWay = yield* Scope.provide(reads.begin("org_1"), scope)
    return { isUnderWay, end: Scope.close(scope, Exit.void) }
  })

it.effect("a read of evidence that took too long has lost its place, and gives back none when it ends", () =>
  Effect.gen(function* () {
    const reads = makeEvidenceReads()
    const slow = yield* begun(reads)
    yield* TestClock.adjust(`${EVIDENCE_READ_SECONDS - 1} seconds`)
    assert.isTrue(slow.isUnderWay())
    yield* TestClock.adjust("1 second")
    assert.isFalse(slow.isUnderWay())
    yield* slow.end
    for (let count = 0; count < MAX_EVIDENCE_READS; count++) {
      assert.isFalse(reads.areAll("org_1"))
      yield* begun(reads)
    }
    assert.isTrue(reads.areAll("org_1"))
    assert.isFalse(reads.areAll("org_2"))
  })
)
