import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EventFeed } from "@svc/domain/ports/EventFeed"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { Clock, Context, Layer, ManagedRuntime } from "effect"
import type { Promised, PromiseStore } from "../src/PromiseStore.ts"
import { effectClockOf } from "../src/testkit/ManualClock.ts"
import type { StoreTime } from "../src/testkit/StoreContract.ts"

/** The memory store, with promises. */
export const promiseMemory = async ({ now }: StoreTime): Promise<PromiseStore> => {
  const clock = Layer.succeed(Clock.Clock, effectClockOf(now))
  const runtime = ManagedRuntime.make(Layer.provideMerge(MemoryStore.layer, clock))
  const context = await runtime.context()
  const promised = <Id, Port extends object>(tag: Context.Key<Id, Port>) =>
    Object.fromEntries(
      Object.entries(Context.get(context as Context.Context<Id>, tag)).map(([name, operation]) => [
        name,
        (...input: ReadonlyArray<unknown>) =>
          runtime.runPromise(typeof operation === "function" ? operation(...input) : operation)
      ])
    ) as unknown as Promised<Port>
  return {
    mandates: promised(MandateStore),
    subjects: promised(SubjectStore),
    due: promised(DueLeases),
    feed: promised(EventFeed),
    webhooks: promised(WebhookStore),
    organizations: promised(Organizations),
    cleaning: promised(StoreCleaning),
    health: promised(StoreHealth)
  }
}

/** The same store as if it were in another thread: what goes in and what comes out is sent there and back. */
export const posted = (store: PromiseStore): PromiseStore =>
  Object.fromEntries(
    Object.entries(store).map(([part, operations]) => [
      part,
      Object.fromEntries(
        Object.entries(operations as Record<string, (...input: ReadonlyArray<unknown>) => unknown>).map(
          ([name, operation]) => [
            name,
            async (...input: ReadonlyArray<unknown>) =>
              structuredClone(await operation(...structuredClone(input)))
          ]
        )
      )
    ])
  ) as unknown as PromiseStore
