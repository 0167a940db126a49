import { Effect, Layer } from "effect"
import { dueWorker } from "./DueWorker.ts"
import { webhookWorker } from "./WebhookWorker.ts"

/**
 * Works in the background for as long as the layer is there, and ends as a worker must when it closes: what is begun is
 * finished, leases are given back (part 9).
 */
export const workerLayer = Layer.mergeAll(
  Layer.effectDiscard(Effect.forkScoped(dueWorker)),
  Layer.effectDiscard(Effect.forkScoped(webhookWorker))
)
