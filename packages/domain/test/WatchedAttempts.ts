/** Attempts of webhooks that a test ends itself, in a memory store that shows each write of ends. */
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { singleBody } from "@svc/testkit/ProgramHarness"
import { Effect, Layer, Logger, References } from "effect"
import type { StoreUnavailable } from "../src/ports/MandateStore.ts"
import { type EndedAttempts, type LeasedDelivery, WebhookStore } from "../src/ports/WebhookStore.ts"
import { listWebhookDeliveries } from "../src/programs/WebhookDeliveries.ts"
import { readWebhookEndpoint } from "../src/programs/WebhookEndpoints.ts"
import type { AttemptResult } from "../src/webhook/WebhookDelivery.ts"
import type { EndedAttempt } from "../src/workers/WebhookAttempts.ts"
import { memoryPrograms } from "./MemoryPrograms.ts"
import { makeReceivers, webhookCaller } from "./WebhookReceivers.ts"

/** How long the lease of an attempt lasts that a test opened, in seconds. */
export const LEASE_SECONDS = 60n

export const attemptsCaller = webhookCaller()

const organization = attemptsCaller.organization.id

/**
 * A memory store that remembers the writes of ends, and what was logged with its annotations. `before` runs before each write,
 * and may fail or wait.
 */
export const watchedAttempts = (
  before: (write: ReadonlyArray<EndedAttempts>) => Effect.Effect<void, StoreUnavailable> = () => Effect.void
) => {
  const writes: Array<ReadonlyArray<EndedAttempts>> = []
  const logged: Array<Record<string, unknown>> = []
  const watched = Layer.effect(
    WebhookStore,
    Effect.map(WebhookStore, (store) => ({
      ...store,
      recordAttempts: (ended) =>
        Effect.suspend(() => {
          writes.push(ended)
          return Effect.andThen(before(ended), store.recordAttempts(ended))
        })
    }))
  )
  const logger = Logger.make<unknown, void>(({ fiber, message }) => {
    logged.push({ message: [message].flat()[0], ...fiber.getRef(References.CurrentLogAnnotations) })
  })
  const layer = Layer.mergeAll(
    Layer.provideMerge(watched, memoryPrograms()),
    makeReceivers().layer,
    Logger.layer([logger])
  )
  return { layer, logged, writes }
}

/** Opens an attempt of each delivery that is due, after a number of events. */
export const attemptsAfter = (events: number) =>
  Effect.gen(function* () {
    for (let count = 0; count < events; count += 1) yield* attemptsCaller.create(singleBody())
    const store = yield* WebhookStore
    return yield* store.leaseDue({
      token: "lease",
      limit: 1000,
      perEndpoint: 1000,
      assured: 0,
      perOrganization: 1000,
      lasts: LEASE_SECONDS * NANOS_PER_SECOND
    })
  })

/** {@link attemptsAfter}, once one more endpoint is registered. */
export const leased = (events: number, url = "https://hooks.example/svc") =>
  Effect.andThen(attemptsCaller.register({ url }), attemptsAfter(events))

export const endedWith = (
  deliveries: ReadonlyArray<LeasedDelivery>,
  result: AttemptResult | "lost"
): ReadonlyArray<EndedAttempt> => deliveries.map(({ delivery }) => ({ delivery, result }))

export const failuresOf = (endpointId: string) =>
  Effect.map(
    readWebhookEndpoint({ organization, endpointId }),
    ({ consecutive_failed_attempts }) => consecutive_failed_attempts
  )

/** How the attempts of each delivery of an endpoint ended, oldest delivery first. */
export const endsOf = (endpointId: string) =>
  Effect.map(listWebhookDeliveries({ organization, endpointId, limit: 100 }), ({ data }) =>
    data.map(({ attempts }) => attempts.map(({ error, status }) => error ?? status)).toReversed()
  )
