import { Context, Effect, Layer } from "effect"
import { MandateStore } from "../ports/MandateStore.ts"
import { WebhookStore } from "../ports/WebhookStore.ts"
import { WebhookWakeUp } from "./WebhookWorker.ts"

/** The same stores, which wake this process's webhook worker after an append with events and when a delivery is added. */
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
