import { MandateStore } from "@svc/domain/ports/MandateStore"
import { WebhookWakeUp } from "@svc/domain/programs/WebhookWorker"
import { Effect, Layer } from "effect"

/** The same store, which wakes the webhook worker of this process when there are new events. */
export const wakingStore: Layer.Layer<MandateStore, never, MandateStore> = Layer.effect(
  MandateStore,
  Effect.gen(function* () {
    const store = yield* MandateStore
    const wakeUp = yield* WebhookWakeUp
    return MandateStore.of({
      ...store,
      append: (change) =>
        Effect.tap(store.append(change), () =>
          Effect.sync(() => {
            if (change.events.length > 0) wakeUp.notify()
          })
        )
    })
  })
)
