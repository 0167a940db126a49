import { Context, Effect, Layer } from "effect"
import { MandateStore } from "../ports/MandateStore.ts"
import { WebhookStore } from "../ports/WebhookStore.ts"
import { WebhookWakeUp } from "./WebhookWorker.ts"

/**
 * The same stores, which wake the webhook worker of this process when there are new events, and when a delivery is asked
 * for: a test, or one that is sent again.
 */
export const wakingStore: Layer.Layer<MandateStore | WebhookStore, never, MandateStore | WebhookStore> =
  Layer.effectContext(
    Effect.gen(function* () {
      const mandates = yield* MandateStore
      const webhooks = yield* WebhookStore
      const wakeUp = yield* WebhookWakeUp
      const notify = Effect.sync(wakeUp.notify)
      return Context.make(MandateStore, {
        ...mandates,
        append: (change) =>
          Effect.tap(mandates.append(change), () => (change.events.length > 0 ? notify : Effect.void))
      }).pipe(
        Context.add(WebhookStore, {
          ...webhooks,
          addDelivery: (addition) => Effect.tap(webhooks.addDelivery(addition), () => notify)
        })
      )
    })
  )
