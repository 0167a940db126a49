import { assert, describe, it } from "@effect/vitest"
import { verifyEvidence } from "@svc/protocol/evidence/EvidenceEnvelope"
import {
  commitReport,
  makeCaller,
  proposalBody,
  recurringBody,
  storedJournal
} from "@svc/testkit/ProgramHarness"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import { Signer } from "../ports/Signer.ts"

const caller = makeCaller()

const verified = Effect.fnUntraced(function* (mandateId: string) {
  const envelope = yield* caller.evidence(mandateId)
  const keySet = yield* (yield* Signer).keySet
  return { envelope, ...Result.getOrThrow(verifyEvidence(envelope, keySet)) }
})

describe("evidence", () => {
  it.effect("verifies, and holds the very texts of the events, the head and the mandate without usage", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create(recurringBody({}, { description: "Bücher \u{1f4da}" }))
      yield* caller.approve(resource.id)
      const { resource: authorization } = yield* caller.propose(resource.id, proposalBody(1))
      yield* caller.commit(authorization.id, commitReport(1))
      yield* TestClock.adjust("1500 millis")
      const { envelope, payload, payloadText } = yield* verified(resource.id)
      assert.deepStrictEqual(Object.keys(envelope).sort(), ["format", "payload", "protected", "signature"])
      assert.strictEqual(envelope.signature.length, 86)
      const texts = yield* storedJournal(caller.organization.id, resource.id)
      assert.isTrue(payloadText.includes(`"events":[${texts.join(",")}]`))
      const { usage: _, ...record } = yield* caller.read(resource.id)
      assert.deepStrictEqual(payload as unknown, {
        schema: "svc.evidence.v1",
        generated_at: "2026-12-01T00:00:01.500000000Z",
        organization_id: caller.organization.id,
        environment: "test",
        mandate: record,
        events: texts.map((text) => JSON.parse(text)),
        head: { seq: texts.length, hash: JSON.parse(texts.at(-1) ?? "").hash }
      })
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("holds what came due until now", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      yield* TestClock.adjust("1 day")
      const { payload } = yield* verified(resource.id)
      assert.deepNestedInclude(payload, { "mandate.state": "EXPIRED", "head.seq": 2 })
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect(
    "is not generated before its last event, though the clock went back; nor is anything decided",
    () =>
      Effect.gen(function* () {
        yield* fromTheStart
        const { resource } = yield* caller.create()
        yield* TestClock.adjust("1 hour")
        yield* caller.approve(resource.id)
        yield* fromTheStart
        const { resource: authorization } = yield* caller.propose(resource.id, proposalBody(1))
        const { payload } = yield* verified(resource.id)
        assert.strictEqual(authorization.created_at, "2026-12-01T01:00:00.000000000Z")
        assert.strictEqual(payload.generated_at, "2026-12-01T01:00:00.000000000Z")
      }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is read in pages when the journal is long", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      for (let number = 0; number < 600; number++) yield* caller.propose(resource.id, proposalBody(number))
      const { payload } = yield* verified(resource.id)
      assert.strictEqual((payload.events as ReadonlyArray<unknown>).length, 601)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("any changed byte of the payload is found", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      const { envelope } = yield* verified(resource.id)
      const keySet = yield* (yield* Signer).keySet
      for (const at of [0, 100, envelope.payload.length - 2]) {
        const character = envelope.payload[at] === "A" ? "B" : "A"
        const payload = envelope.payload.slice(0, at) + character + envelope.payload.slice(at + 1)
        assert.isTrue(Result.isFailure(verifyEvidence({ ...envelope, payload }, keySet)))
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
