import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EventFeed } from "@svc/domain/ports/EventFeed"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { didYouMean } from "@svc/protocol/DidYouMean"
import type { Instant } from "@svc/protocol/Timestamp"
import { absentPort } from "@svc/testkit/AbsentPort"
import * as Conformance from "@svc/testkit/StoreConformance"
import { PORT_NAMES } from "@svc/testkit/store-contract/PortNames"
import { Clock, Context, Effect, Layer } from "effect"
import { type Faults, isObject, throwFaults, unknownNames } from "../OptionFaults.ts"
import { type PromiseStore, portsBroughtBy } from "../PromiseStore.ts"

/** What a store under test shows as its own clock. */
export interface StoreTime {
  /** Nanoseconds since the Unix epoch. */
  readonly now: () => Instant
}

/**
 * Makes the store, once for all tests, and another time for the last one, which holds that a feed does not take the positions of
 * a store that has lost its events: there it may begin with nothing, or share what it keeps with the first. With a live clock it
 * shows its own time. A store may lack ports that are not tested.
 */
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
      const store: unknown = yield* Effect.promise(async () =>
        make({ now: () => clock.currentTimeNanosUnsafe() })
      )
      if (!isObject(store))
        throw new TypeError(
          `makeStore returned ${store}, and not a store: an object with a part for each port`
        )
      return Context.merge(ABSENT, portsBroughtBy(store))
    })
  )

const PORTS = `the ports are ${PORT_NAMES.join(", ")}.`

const onlyFaults = (only: unknown): Faults => {
  if (only === undefined) return []
  if (!Array.isArray(only) || only.length === 0) return [`only must be a list of at least one port; ${PORTS}`]
  return only
    .filter((name) => !PORT_NAMES.includes(name))
    .map((name) => {
      const meant = typeof name === "string" ? didYouMean(name, PORT_NAMES) : undefined
      return `only names ${JSON.stringify(name)}, which is no port; ${meant === undefined ? PORTS : `was ${meant} meant?`}`
    })
}

const runnerFaults = (runner: unknown): Faults =>
  runner === undefined || (Object(runner).describe && Object(runner).it)
    ? []
    : [
        `runner must be the module of a test runner: import * as vitest from "vitest", and { runner: vitest }.`
      ]

/** Throws what is wrong with the arguments of `of`, for whoever has no compiler. */
const throwWrong = (of: string, makeStore: unknown, given: unknown, names: ReadonlyArray<string>): void => {
  const options = isObject(given) ? given : {}
  const { clock = "test", report, runner } = options
  throwFaults(of, [
    ...(isObject(given) ? [] : [`its options must be an object; it takes ${names.join(", ")}.`]),
    ...(typeof makeStore === "function" ? [] : ["makeStore must be a function that returns the store."]),
    ...unknownNames(options, names),
    ...onlyFaults(options.only),
    ...(clock === "test" || clock === "live" ? [] : [`clock must be "test" or "live".`]),
    ...(["undefined", "string", "function"].includes(typeof report)
      ? []
      : ["report must be the path of a file, or a function."]),
    ...runnerFaults(runner)
  ])
}

/**
 * Registers the tests that every store must pass, port by port, with the test runner at hand. While they run, nobody else may
 * write to the store; it need not be empty. Throws a `TypeError` that says what is wrong with the options.
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
  options: Conformance.RegisteredOptions = {}
): void => {
  throwWrong("storeContract", makeStore, options, ["only", "clock", "runner", "report"])
  Conformance.registerConformance(name, () => layerOf(makeStore), options)
}

/**
 * Runs the same tests without a test runner, and resolves with the report whatever they find. Rejects with a `TypeError` that
 * says what is wrong with the options.
 *
 * @example
 * ```ts
 * import { checkStore } from "svc/testkit"
 *
 * const { conforms, cases } = await checkStore("MapStore", ({ now }) => makeMapStore(now))
 * const broken = cases.filter(({ outcome }) => outcome === "failed")
 * ```
 */
export const checkStore = async (
  name: string,
  makeStore: MakeStore,
  options: Conformance.ConformanceOptions = {}
): Promise<Conformance.ConformanceReport> => {
  throwWrong("checkStore", makeStore, options, ["only", "clock"])
  return Conformance.checkStore(name, () => layerOf(makeStore), options)
}
