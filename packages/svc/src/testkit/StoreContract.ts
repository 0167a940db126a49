import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EventFeed } from "@svc/domain/ports/EventFeed"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import type { Instant } from "@svc/protocol/Timestamp"
import { absentPort } from "@svc/testkit/AbsentPort"
import * as Conformance from "@svc/testkit/StoreConformance"
import { Clock, Context, Effect, Layer } from "effect"
import { type PromiseStore, portsBroughtBy } from "../PromiseStore.ts"

/** What a store under test shows as its own clock. */
export interface StoreTime {
  /** Nanoseconds since the Unix epoch. */
  readonly now: () => Instant
}

/** Makes the store, once for all tests. With a live clock it shows its own time. A store may lack ports that are not tested. */
export type MakeStore = (time: StoreTime) => Partial<PromiseStore> | Promise<Partial<PromiseStore>>

const ABSENT = Context.make(MandateStore, absentPort("MandateStore")).pipe(
  Context.add(SubjectStore, absentPort("SubjectStore")),
  Context.add(DueLeases, absentPort("DueLeases")),
  Context.add(EventFeed, absentPort("EventFeed")),
  Context.add(WebhookStore, absentPort("WebhookStore")),
  Context.add(Organizations, absentPort("Organizations")),
  Context.add(StoreCleaning, absentPort("StoreCleaning")),
  Context.add(StoreHealth, absentPort("StoreHealth"))
)

/** The ports of a store under test; those that it does not bring say so when they are called. */
const layerOf = (make: MakeStore): Layer.Layer<StoragePorts> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const store = yield* Effect.promise(async () => make({ now: () => clock.currentTimeNanosUnsafe() }))
      return Context.merge(ABSENT, portsBroughtBy(store))
    })
  )

/**
 * Registers the tests that every store must pass, port by port, with the test runner at hand. While they run, nobody else may
 * write to the store; it need not be empty.
 *
 * @example
 * ```ts
 * import { storeContract } from "svc/testkit"
 *
 * storeContract("MapStore", ({ now }) => makeMapStore(now), { report: "conformance.json" })
 * ```
 */
export const storeContract = (
  name: string,
  makeStore: MakeStore,
  options?: Conformance.RegisteredOptions
): void => Conformance.registerConformance(name, () => layerOf(makeStore), options)

/**
 * Runs the same tests without a test runner, and resolves with the report whatever they find.
 *
 * @example
 * ```ts
 * import { checkStore } from "svc/testkit"
 *
 * const { conforms, cases } = await checkStore("MapStore", ({ now }) => makeMapStore(now))
 * const broken = cases.filter(({ outcome }) => outcome === "failed")
 * ```
 */
export const checkStore = (
  name: string,
  makeStore: MakeStore,
  options?: Conformance.ConformanceOptions
): Promise<Conformance.ConformanceReport> => Conformance.checkStore(name, () => layerOf(makeStore), options)
