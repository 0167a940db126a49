import { Effect, Layer } from "effect"
import { cleaningWorker } from "./CleaningWorker.ts"
import { dueWorker } from "./DueWorker.ts"
import { webhookWorker } from "./WebhookWorker.ts"

/** Runs the workers in the background until the layer closes; then they finish what they have begun and release their leases. */
export const workerLayer = Layer.mergeAll(
  Layer.effectDiscard(Effect.forkScoped(dueWorker)),
  Layer.effectDiscard(Effect.forkScoped(webhookWorker)),
  Layer.effectDiscard(Effect.forkScoped(cleaningWorker))
)
