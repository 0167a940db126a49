import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Signer } from "@svc/domain/ports/Signer"
import { verifyEventHash } from "@svc/protocol/evidence/EventHash"
import { verifyEvidence } from "@svc/protocol/evidence/EvidenceEnvelope"
import type { JsonObject } from "@svc/protocol/json/Json"
import { proposalBody } from "@svc/testkit/ProgramHarness"
import { Context, Effect, Result } from "effect"
import { fillMandate } from "./FilledMandate.ts"
import { clockOf, newCaller, processOn, roomyBody } from "./ProgramsOnPostgres.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const MIB = 1_048_576
/** Proposals of which each is about as long as a request may be. */
const PROPOSALS = 240
/** Length of the journal that is asked for, in bytes. */
const JOURNAL_BYTES = 12 * MIB

const server = await openTestDatabase()

/** As many attributes as there may be, each as long as it may be, of characters of four bytes. */
const ATTRIBUTES: JsonObject = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => [`name ${index}`, "\u{1f4b6}".repeat(255)])
)

const longProposal = (number: number) =>
  proposalBody(number, 1000, {
    proposed_action: {
      action: "not.allowed",
      payment: { amount: 1000, currency: "EUR" },
      attributes: ATTRIBUTES
    }
  })

describe.skipIf(server === undefined)("evidence of a long journal (part 7)", { timeout: 300_000 }, () => {
  afterAll(() => server?.stop())

  it.live("is served and verifies at 12 MiB", () =>
    Effect.gen(function* () {
      const schema = `evidence_${randomBytes(6).toString("hex")}`
      const ports = yield* processOn({ url: server!.url, schema })
      const now = yield* clockOf(Context.get(ports, MandateStore))
      const caller = newCaller()
      const { resource } = yield* caller.create(roomyBody(now)).pipe(Effect.provide(ports))
      const place = { organization: caller.organization.id, mandate: resource.id }
      yield* caller.approve(resource.id).pipe(Effect.provide(ports))
      const filling = { ...place, first: 0, count: PROPOSALS, body: longProposal }
      yield* fillMandate(filling).pipe(Effect.provide(ports))
      const envelope = yield* caller.evidence(resource.id).pipe(Effect.provide(ports))
      const keySet = yield* Context.get(ports, Signer).keySet
      const { payload, payloadText } = Result.getOrThrow(verifyEvidence(envelope, keySet))
      assert.isAbove(Buffer.byteLength(payloadText), JOURNAL_BYTES)
      const events = payload.events as ReadonlyArray<JsonObject>
      assert.strictEqual(events.length, PROPOSALS + 2)
      events.forEach((event, index) => {
        assert.strictEqual(event.seq, index + 1)
        assert.strictEqual(event.previous_hash, events[index - 1]?.hash)
        assert.isTrue(verifyEventHash(event))
      })
      assert.strictEqual((payload.head as JsonObject).hash, events.at(-1)?.hash)
    })
  )
})
