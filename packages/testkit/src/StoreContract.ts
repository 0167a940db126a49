import { describe, layer, type Vitest } from "@effect/vitest"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { Layer } from "effect"
import { TestClock } from "effect/testing"
import { type ContractCase, contractCases } from "./store-contract/ContractCases.ts"
import { CONTRACT_START_MILLISECONDS, type StoreClock } from "./store-contract/StoreUnderTest.ts"

/** Longest that one test may take, in milliseconds: one of them records 10,000 events. */
const CASE_TIMEOUT_MS = 120_000

/** Longest that a store may take to come up and to shut down. */
const START_TIMEOUT = "120 seconds"

const register = (
  cases: ReadonlyArray<ContractCase>,
  effect: Vitest.MethodsNonLive<StoragePorts>["effect"]
): void => {
  for (const [group, inGroup] of Map.groupBy(cases, ({ group }) => group))
    describe(group, () => {
      for (const { run, title } of inGroup) effect(title, () => run, { timeout: CASE_TIMEOUT_MS })
    })
}

/**
 * Registers the tests that every implementation of the storage ports must pass. The layer is built once for
 * all of them; each test keeps to organizations of its own, so the store need not be empty, but while the
 * tests run nobody else may write to it.
 *
 * `clock` says what the store's clock is: Effect's, then the tests drive it with `TestClock`, or a live one
 * (a database's), then they are content with instants far enough from now, and skip what needs exact ones.
 */
export const storeContract = <E>(
  name: string,
  store: () => Layer.Layer<StoragePorts, E>,
  options: { readonly clock: StoreClock }
): void => {
  const { clock } = options
  const started =
    clock === "live"
      ? store()
      : store().pipe(Layer.provideMerge(Layer.effectDiscard(TestClock.setTime(CONTRACT_START_MILLISECONDS))))
  layer(started, { excludeTestServices: clock === "live", timeout: START_TIMEOUT })(
    `${name}: storage contract, ${clock} clock`,
    (it) => register(contractCases(clock, clock === "test" ? store : undefined), it.effect)
  )
}

/** What a store is asked that does appends, loads and the look-up of an API key in another way. */
const SHARED = new Set([
  "load",
  "organizations",
  "tenants",
  "append",
  "concurrency",
  "claims",
  "fidelity",
  "subjects",
  "journal",
  "webhook endpoints",
  "deliveries of events",
  "the deliveries of an event"
])

/**
 * Registers the tests of the contract that hold what an append, a load and the look-up of an API key do, for a store that
 * does those in another way and whose other operations have been tested already. The clock is a live one.
 */
export const sharedStoreContract = <E>(name: string, store: () => Layer.Layer<StoragePorts, E>): void => {
  layer(store(), { excludeTestServices: true, timeout: START_TIMEOUT })(
    `${name}: storage contract of appends and loads, live clock`,
    (it) =>
      register(
        contractCases("live").filter(({ group }) => SHARED.has(group)),
        it.effect
      )
  )
}
