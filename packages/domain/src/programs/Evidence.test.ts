import { assert, describe, it } from "@effect/vitest"
import { verifyEvidence, verifyEvidenceContinuation } from "@svc/protocol/evidence/EvidenceEnvelope"
import {
  commitReport,
  makeCaller,
  proposalBody,
  recurringBody,
  storedJournal
} from "@svc/testkit/ProgramHarness"
import { Effect, Exit, Layer, Result, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import {
  EVIDENCE_READ_SECONDS,
  EvidenceReads,
  MAX_EVIDENCE_READS,
  makeEvidenceReads
} from "../engine/EvidenceReads.ts"
import { MandateStore } from "../ports/MandateStore.ts"
import { Signer } from "../ports/Signer.ts"
import { openContinuation, openEvidence } from "./Evidence.ts"

const caller = makeCaller()

const verified = Effect.fnUntraced(function* (mandateId: string) {
  const envelope = yield* caller.evidence(mandateId)
  const keySet = yield* (yield* Signer).keySet
  return { envelope, ...Result.getOrThrow(verifyEvidence(envelope, keySet)) }
})

/** The store, and how many events each read of a journal asks it for. */
const watchedJournal = Effect.map(MandateStore, (store) => {
  const limits: Array<number> = []
  const layer = Layer.succeed(MandateStore, {
    ...store,
    journal: (query) =>
      Effect.suspend(() => {
        limits.push(query.limit)
        return store.journal(query)
      })
  })
  return { limits, layer }
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

  it.effect("is read in pages when the journal is long, each of as many events as 64 KiB of text has", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      for (let number = 0; number < 600; number++) yield* caller.propose(resource.id, proposalBody(number))
      const { limits, layer } = yield* watchedJournal
      const { payload } = yield* Effect.provide(verified(resource.id), layer)
      assert.strictEqual((payload.events as ReadonlyArray<unknown>).length, 601)
      const texts = yield* storedJournal(caller.organization.id, resource.id)
      const fitting = (65_536 * texts.length) / texts.join("").length
      assert.deepStrictEqual(limits.slice(0, 2), [16, 32])
      for (const limit of limits.slice(2)) assert.approximately(limit, fitting, 5)
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

const attributes = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => [`name ${index}`, "\u{1f4b6}".repeat(200 + index)])
)

/** A mandate whose journal is many slices long, with characters of four bytes at any place in them. */
const longMandate = Effect.gen(function* () {
  yield* fromTheStart
  const { resource } = yield* caller.create()
  for (let number = 0; number < 20; number++) {
    const payment = { amount: 1, currency: "EUR" }
    const proposed_action = { action: "not.allowed", payment, attributes }
    yield* caller.propose(resource.id, proposalBody(number, 1, { proposed_action }))
  }
  return resource.id
})

const opened = (mandateId: string) => openEvidence({ organization: caller.organization.id, mandateId })

describe("evidence that is taken piece by piece", () => {
  it.effect("holds the very texts of the events, however they fall into pieces", () =>
    Effect.gen(function* () {
      const mandate = yield* longMandate
      const { payloadText } = yield* verified(mandate)
      const texts = yield* storedJournal(caller.organization.id, mandate)
      assert.isTrue(payloadText.includes(`"events":[${texts.join(",")}]`))
      const reading = yield* opened(mandate)
      const pieces = yield* Stream.runCollect(reading.payload)
      assert.isAbove(pieces.length, 10)
      for (const piece of pieces.slice(0, -1)) assert.strictEqual(piece.length % 4, 0)
      assert.isTrue(pieces.every((piece) => piece.length <= 65_536))
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("says of what format it is, and about how long", () =>
    Effect.gen(function* () {
      const mandate = yield* longMandate
      const named = { organization: caller.organization.id, mandateId: mandate }
      const { payloadText } = yield* verified(mandate)
      const whole = yield* openEvidence(named)
      const half = yield* openContinuation({ ...named, afterSeq: 10 })
      assert.deepStrictEqual([whole.format, half.format], ["svc.evidence.v1", "svc.evidence.continuation.v1"])
      const length = new TextEncoder().encode(payloadText).length
      assert.approximately(whole.estimatedBytes, length, length / 20)
      assert.isBelow(half.estimatedBytes, whole.estimatedBytes)
      assert.isAbove(half.estimatedBytes, 0)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("reads of the store only what the next piece needs, of large events two at a time", () =>
    Effect.gen(function* () {
      const mandate = yield* longMandate
      const { limits, layer } = yield* watchedJournal
      const begun = yield* Effect.provide(opened(mandate), layer)
      yield* Stream.runHead(begun.payload)
      assert.deepStrictEqual(limits, [16])
      const { payload } = yield* Effect.provide(opened(mandate), layer)
      yield* Stream.runDrain(payload)
      assert.deepStrictEqual(limits, [16, 16, 2, 2, 2])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect(
    "leaves an organization a few places, which are free once it has ended, was left or took too long",
    () =>
      Effect.gen(function* () {
        const mandate = yield* longMandate
        const isRefused = Effect.map(Effect.exit(opened(mandate)), Exit.isFailure)
        const begin = Effect.gen(function* () {
          const { payload } = yield* opened(mandate)
          const pull = yield* Stream.toPull(payload)
          yield* pull
          return pull
        })
        const scopes = yield* Effect.forEach(Array.from({ length: MAX_EVIDENCE_READS }), () => Scope.make())
        const pulls = yield* Effect.forEach(scopes, (scope) =>
          Effect.provideService(begin, Scope.Scope, scope)
        )
        const refused = yield* Effect.flip(opened(mandate))
        assert.deepInclude(refused, { _tag: "StoreUnavailable", retryAfterSeconds: 1 })
        yield* Scope.close(scopes[0]!, Exit.void)
        assert.isFalse(yield* isRefused)
        yield* Effect.flatMap(opened(mandate), ({ payload }) => Stream.runDrain(payload))
        yield* Effect.provideService(begin, Scope.Scope, scopes[1]!)
        assert.isTrue(yield* isRefused)
        yield* TestClock.adjust(`${EVIDENCE_READ_SECONDS} seconds`)
        assert.isFalse(yield* isRefused)
        const late = yield* Effect.flip(pulls[2]!)
        assert.strictEqual((late as { readonly _tag: string })._tag, "StoreUnavailable")
        yield* Effect.forEach(scopes, (scope) => Scope.close(scope, Exit.void))
      }).pipe(Effect.provideService(EvidenceReads, makeEvidenceReads()), Effect.provide(memoryPrograms()))
  )

  it.effect("is not signed when the store's journal does not lead to the head", () =>
    Effect.gen(function* () {
      const mandate = yield* longMandate
      const store = yield* MandateStore
      const forked = MandateStore.of({
        ...store,
        journal: (query) =>
          Effect.map(store.journal(query), (texts) =>
            texts.map((text) => text.replaceAll(/"hash":"[^"]*"/gu, '"hash":"of another history"'))
          )
      })
      const failure = yield* Effect.flip(
        Effect.provideService(caller.evidence(mandate), MandateStore, forked)
      )
      assert.strictEqual(failure._tag, "StoreUnavailable")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

it.effect("evidence is not given of a journal with a gap, whole or continued", () =>
  Effect.gen(function* () {
    const mandate = yield* longMandate
    const store = yield* MandateStore
    const gap = MandateStore.of({ ...store, journal: () => Effect.succeed([]) })
    const reads = [Effect.asVoid(caller.evidence(mandate)), Effect.asVoid(caller.continuation(mandate, 3))]
    for (const read of reads) {
      const failure = yield* Effect.flip(Effect.provideService(read, MandateStore, gap))
      assert.strictEqual(failure._tag, "StoreUnavailable")
    }
  }).pipe(Effect.provide(memoryPrograms()))
)

describe("a continuation of evidence", () => {
  const continued = Effect.fnUntraced(function* (mandateId: string, afterSeq: number) {
    const envelope = yield* caller.continuation(mandateId, afterSeq)
    const keySet = yield* (yield* Signer).keySet
    return { envelope, ...Result.getOrThrow(verifyEvidenceContinuation(envelope, keySet)) }
  })

  it.effect("goes on from the event that the caller has, under a format of its own", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      yield* caller.approve(resource.id)
      const first = yield* verified(resource.id)
      for (let number = 0; number < 30; number++) yield* caller.propose(resource.id, proposalBody(number))
      const { envelope, payload, payloadText } = yield* continued(resource.id, 2)
      assert.strictEqual(envelope.format, "svc.evidence.continuation.v1")
      const whole = yield* verified(resource.id)
      const { events, head, schema, ...same } = whole.payload
      const all = events as ReadonlyArray<{ readonly seq: number; readonly previous_hash?: string }>
      assert.deepStrictEqual(payload, {
        ...same,
        schema: "svc.evidence.continuation.v1",
        after: first.payload.head!,
        events: all.slice(2) as never,
        head: head!
      })
      assert.strictEqual(schema, "svc.evidence.v1")
      assert.strictEqual(all[2]?.previous_hash, (first.payload.head as { readonly hash: string }).hash)
      const texts = yield* storedJournal(caller.organization.id, resource.id)
      assert.isTrue(payloadText.includes(`"events":[${texts.slice(2).join(",")}]`))
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("after the last event says as of when there is nothing new", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      yield* TestClock.adjust("1 minute")
      const { payload } = yield* continued(resource.id, 1)
      assert.deepInclude(payload, { events: [], generated_at: "2026-12-01T00:01:00.000000000Z" })
      assert.deepStrictEqual(payload.after, payload.head)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is refused after an event that the journal does not have, or none", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      assert.strictEqual((yield* Effect.flip(caller.continuation(resource.id, 2)))._tag, "HistoryChanged")
      for (const afterSeq of [0, -1, 1.5, 2 ** 53]) {
        assert.strictEqual(
          (yield* Effect.flip(caller.continuation(resource.id, afterSeq)))._tag,
          "ValidationFailed"
        )
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("and evidence are not taken for each other", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      const keySet = yield* (yield* Signer).keySet
      const evidence = yield* caller.evidence(resource.id)
      const continuation = yield* caller.continuation(resource.id, 1)
      const reasonOf = (result: ReturnType<typeof verifyEvidence>) =>
        Result.isFailure(result) ? result.failure.reason : "valid"
      assert.strictEqual(reasonOf(verifyEvidence(continuation, keySet)), "format_unsupported")
      assert.strictEqual(reasonOf(verifyEvidenceContinuation(evidence, keySet)), "format_unsupported")
      // The format is not signed, the schema is.
      const renamed = { ...continuation, format: evidence.format }
      assert.strictEqual(reasonOf(verifyEvidence(renamed, keySet)), "schema_unsupported")
      const back = { ...evidence, format: continuation.format }
      assert.strictEqual(reasonOf(verifyEvidenceContinuation(back, keySet)), "schema_unsupported")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
