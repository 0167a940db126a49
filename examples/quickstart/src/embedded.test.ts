import { assert, it } from "@effect/vitest"
import { Signer } from "@svc/domain/ports/Signer"
import { readEvidence } from "@svc/domain/programs/Evidence"
import { listMandates } from "@svc/domain/programs/Mandates"
import { verifyEvidence } from "@svc/verifier"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { lifecycle, organization, ports } from "./embedded.ts"

it.effect("embedded.ts completes the whole lifecycle", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.UTC(2027, 0, 1))
    assert.deepStrictEqual(yield* lifecycle, {
      decision: "ALLOW",
      outcome: "COMMITTED",
      proven: [
        "mandate.created",
        "mandate.approved",
        "authorization.reserved",
        "authorization.committed",
        "mandate.consumed"
      ]
    })
  }).pipe(Effect.provide(ports))
)

it.live("embedded.ts reports an execution within the time that was granted", () =>
  Effect.gen(function* () {
    yield* lifecycle
    const { data } = yield* listMandates({ organization: organization.id, limit: 1 })
    const mandateId = data[0]?.id ?? ""
    const evidence = yield* readEvidence({ organization: organization.id, mandateId })
    const keySet = yield* (yield* Signer).keySet
    const report = yield* Effect.promise(() => verifyEvidence(evidence, keySet))
    assert.strictEqual(report.verdict, "valid")
    assert.deepStrictEqual(report.warnings, [])
  }).pipe(Effect.provide(ports))
)
