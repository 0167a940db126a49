import { assert, describe, it } from "@effect/vitest"
import {
  cancelReport,
  commitReport,
  type ProgramPorts,
  proposalBody,
  recurringBody,
  refundReport
} from "@svc/testkit/ProgramHarness"
import { Effect, Layer } from "effect"
import { Organizations } from "../src/ports/Organizations.ts"
import type { WebhookStore } from "../src/ports/WebhookStore.ts"
import type { WebhookTransport } from "../src/ports/WebhookTransport.ts"
import { createApprovalSession } from "../src/programs/ApprovalSessions.ts"
import { redeliverWebhook, testWebhookEndpoint } from "../src/programs/WebhookDeliveries.ts"
import { fromTheStart, memoryPrograms, racingPrograms } from "./MemoryPrograms.ts"
import { makeReceivers, webhookCaller } from "./WebhookReceivers.ts"

const caller = webhookCaller()

type Write = (
  key: string
) => Effect.Effect<
  { readonly replayed: boolean },
  { readonly _tag: string },
  ProgramPorts | WebhookStore | WebhookTransport
>

const outcome = (write: ReturnType<Write>) =>
  Effect.match(write, { onFailure: ({ _tag }) => _tag, onSuccess: () => "made" })

describe("an idempotency key that served another operation", () => {
  /** Every kind of write, each on resources of its own that are ready for it. */
  const writes = Effect.gen(function* () {
    yield* fromTheStart
    yield* Organizations.use((organizations) => organizations.put(caller.organization))
    const ready = (yield* caller.create(recurringBody())).resource.id
    yield* caller.approve(ready)
    const pending = (yield* caller.create(recurringBody())).resource.id
    const reserved = (yield* caller.propose(ready, proposalBody(1))).resource.id
    const doomed = (yield* caller.propose(ready, proposalBody(2))).resource.id
    const paid = (yield* caller.propose(ready, proposalBody(3))).resource.id
    yield* caller.commit(paid, commitReport(3))
    const { id: endpointId } = (yield* caller.register()).resource
    const { id: deleted } = (yield* caller.register()).resource
    const { id: deliveryId } = (yield* testWebhookEndpoint({
      ...caller.writeOf({}),
      endpointId
    })).resource
    return {
      creation: (key: string) => caller.create(recurringBody(), key),
      session: (key: string) => createApprovalSession({ ...caller.write({}, key), mandateId: pending }),
      proposal: (key: string) => caller.propose(ready, proposalBody(4), key),
      commit: (key: string) => caller.commit(reserved, commitReport(1), key),
      cancellation: (key: string) => caller.cancel(doomed, cancelReport(), key),
      refund: (key: string) => caller.refund(paid, refundReport(1), key),
      endpoint: (key: string) => caller.register({}, key),
      rotation: (key: string) => caller.rotate(endpointId, key),
      reactivation: (key: string) => caller.reactivate(endpointId, key),
      test: (key: string) => testWebhookEndpoint({ ...caller.writeOf({}, key), endpointId }),
      redelivery: (key: string) => redeliverWebhook({ ...caller.writeOf({}, key), endpointId, deliveryId }),
      redeliveryOfNothing: (key: string) =>
        redeliverWebhook({ ...caller.writeOf({}, key), endpointId: "whe_", deliveryId }),
      deletion: (key: string) => caller.remove(deleted, key),
      revocation: (key: string) => caller.revoke(ready, { reason: "r" }, key)
    } satisfies Readonly<Record<string, Write>>
  })

  /** Writes that succeed as given; the others above only have to be refused. */
  const SERVING = [
    "creation",
    "proposal",
    "commit",
    "cancellation",
    "refund",
    "endpoint",
    "rotation",
    "reactivation",
    "test",
    "deletion",
    "revocation"
  ]

  for (const first of SERVING) {
    it.effect(`is refused for every other write after ${first}, and serves its own again`, () =>
      Effect.gen(function* () {
        const all: Readonly<Record<string, Write>> = yield* writes
        yield* all[first]!("k")
        for (const [name, write] of Object.entries(all)) {
          if (name === first) assert.isTrue((yield* write("k")).replayed, name)
          else assert.strictEqual(yield* outcome(write("k")), "IdempotencyKeyReused", name)
        }
      }).pipe(Effect.provide(Layer.merge(memoryPrograms(), makeReceivers().layer)))
    )
  }

  for (const seed of [1, 2, 3]) {
    it.effect(`also when the operations come at once: one has it (seed ${seed})`, () =>
      Effect.gen(function* () {
        const all: Readonly<Record<string, Write>> = yield* writes
        const results = yield* Effect.all(
          SERVING.map((name) => outcome(all[name]!("k"))),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(results.toSorted(), [
          ...Array<string>(SERVING.length - 1).fill("IdempotencyKeyReused"),
          "made"
        ])
      }).pipe(Effect.provide(Layer.merge(racingPrograms(seed), makeReceivers().layer)))
    )
  }
})
