import { assert, describe, it } from "@effect/vitest"
import { createdChange, newIdentifier } from "@svc/testkit/StoreFixtures"
import { Effect, Layer } from "effect"
import { STARTS } from "../../test/MandateStory.ts"
import { MandateStore, Stale, type StreamChange } from "../ports/MandateStore.ts"
import { WebhookStore } from "../ports/WebhookStore.ts"
import { wakingStore } from "./WakingStore.ts"
import { makeWakeUp, WebhookWakeUp } from "./WebhookWorker.ts"

const change = createdChange(
  { organization: newIdentifier("org_"), mandate: newIdentifier("mnd_"), subjectReference: "user_8f2" },
  STARTS
)

/** How many hints an action on the stores gives. Appends fail for changes that expect a revision. */
const hintsOf = <A, E>(action: Effect.Effect<A, E, MandateStore | WebhookStore>) => {
  const wakeUp = makeWakeUp()
  const stores = Layer.mergeAll(
    Layer.succeed(MandateStore, {
      append: ({ expected }: StreamChange) =>
        expected === "absent" ? Effect.succeed({ revision: 1 }) : Effect.fail(new Stale())
    } as unknown as MandateStore["Service"]),
    Layer.succeed(WebhookStore, {
      addDelivery: () => Effect.void
    } as unknown as WebhookStore["Service"])
  )
  return Effect.exit(action).pipe(
    Effect.provide(Layer.provide(wakingStore, stores)),
    Effect.provideService(WebhookWakeUp, wakeUp),
    Effect.map(() => wakeUp.count())
  )
}

const append = (given: StreamChange) => MandateStore.use((store) => store.append(given))

describe("a store that wakes the webhook worker", () => {
  it.effect("does so once there may be something to deliver", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* hintsOf(append(change)), 1)
      assert.strictEqual(yield* hintsOf(WebhookStore.use((store) => store.addDelivery({} as never))), 1)
    })
  )

  it.effect("does not for a change without events, or one that was not recorded", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* hintsOf(append({ ...change, events: [] })), 0)
      assert.strictEqual(yield* hintsOf(append({ ...change, expected: 1 })), 0)
    })
  )
})
