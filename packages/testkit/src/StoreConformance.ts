import { writeFileSync } from "node:fs"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { Cause, Effect, Exit, Layer, ManagedRuntime } from "effect"
import { TestClock } from "effect/testing"
import { absentPortOf } from "./AbsentPort.ts"
import { wordsOf } from "./FailureWords.ts"
import { type ContractCase, contractCases } from "./store-contract/ContractCases.ts"
import { PORT_NAMES, type PortName } from "./store-contract/PortNames.ts"
import { CONTRACT_START_MILLISECONDS, type StoreClock } from "./store-contract/StoreUnderTest.ts"

/** What became of one rule of the contract. */
export interface CaseResult {
  readonly port: PortName
  readonly group: string
  readonly title: string
  /** `skipped`: it needs a port that the store does not bring. `untried`: the runner was told to leave it out, or ended early. */
  readonly outcome: "passed" | "failed" | "skipped" | "untried"
  /** Why it failed, or which port it would have needed. */
  readonly detail?: string
}

/** How far a store keeps the contract: plain data, to be kept as JSON. */
export interface ConformanceReport {
  readonly store: string
  readonly clock: StoreClock
  /**
   * Whether every rule of the ports in question was tried and holds. Without `only`, a store need not bring the ports that a
   * service does without.
   */
  readonly conforms: boolean
  readonly ports: Readonly<Record<string, Readonly<Record<CaseResult["outcome"], number>>>>
  readonly cases: ReadonlyArray<CaseResult>
}

/** What of the contract is tested, and how. */
export interface ConformanceOptions {
  /** The ports to test. Default: all of them. Rules that need another port, which the store does not bring, are skipped. */
  readonly only?: ReadonlyArray<PortName>
  /** `test`: the store shows the time that it is given; `live`: its own, and rules on exact instants are left out. */
  readonly clock?: StoreClock
}

/** How a test runner registers tests: `vitest`, `node:test`, and whatever has the same functions. */
export interface TestRunner {
  readonly describe: (name: string, define: () => void) => unknown
  readonly it: (name: string, run: (context: unknown) => Promise<void>, timeoutMs?: number) => unknown
  readonly after?: (run: () => Promise<void>) => unknown
  readonly afterAll?: (run: () => Promise<void>) => unknown
}

/** Options of a contract that is registered with a test runner. */
export interface RegisteredOptions extends ConformanceOptions {
  /** The module of the test runner. Default: `describe` and `it` of the global scope, else `node:test`. */
  readonly runner?: TestRunner
  /** Receives the report once all tests have run; a text is the path of the JSON file to write. */
  readonly report?: string | ((report: ConformanceReport) => void)
}

/** Ports that a service does without: it then never reports a fault of the store, and removes nothing. */
const OPTIONAL: ReadonlySet<PortName> = new Set(["StoreHealth", "StoreCleaning"])

/** Longest that one test may take, in milliseconds: one of them records 10,000 events. */
const CASE_TIMEOUT_MS = 120_000

const started = <E>(store: Layer.Layer<StoragePorts, E>, clock: StoreClock) =>
  clock === "live"
    ? store
    : store.pipe(
        Layer.provideMerge(Layer.effectDiscard(TestClock.setTime(CONTRACT_START_MILLISECONDS))),
        Layer.provideMerge(TestClock.layer())
      )

const summary = (cases: ReadonlyArray<CaseResult>): ConformanceReport["ports"] =>
  Object.fromEntries(
    PORT_NAMES.flatMap((port) => {
      const ofPort = cases.filter((each) => each.port === port)
      const count = (outcome: CaseResult["outcome"]) =>
        ofPort.filter((each) => each.outcome === outcome).length
      return ofPort.length === 0
        ? []
        : [
            [
              port,
              {
                passed: count("passed"),
                failed: count("failed"),
                skipped: count("skipped"),
                untried: count("untried")
              }
            ]
          ]
    })
  )

/** The tests of a store, to be run one after the other, and what has become of them so far. */
export const makeConformance = <E>(
  name: string,
  store: () => Layer.Layer<StoragePorts, E>,
  { clock = "test", only }: ConformanceOptions = {}
) => {
  const runtime = ManagedRuntime.make(started(store(), clock))
  const cases = contractCases(clock, store).filter(({ port }) => only === undefined || only.includes(port))
  const results = new Map<ContractCase, CaseResult>()
  const isOptional = (absent: PortName): boolean => only !== undefined || OPTIONAL.has(absent)

  const attempt = async (each: ContractCase) => {
    const { group, port, run, title } = each
    const exit = await runtime.runPromiseExit(Effect.scoped(run))
    const error = Exit.isSuccess(exit) ? undefined : Cause.squash(exit.cause)
    const absent = absentPortOf(error)
    const outcome =
      absent !== undefined && isOptional(absent) ? "skipped" : Exit.isSuccess(exit) ? "passed" : "failed"
    const result: CaseResult = {
      port,
      group,
      title,
      outcome,
      ...(error === undefined ? {} : { detail: wordsOf(error) })
    }
    // A rule that was broken once does not hold, also where the runner tries it again and it passes.
    if (results.get(each)?.outcome !== "failed") results.set(each, result)
    return { result, error }
  }
  const resultOf = (each: ContractCase): CaseResult =>
    results.get(each) ?? { port: each.port, group: each.group, title: each.title, outcome: "untried" }
  return {
    cases: cases.map((each) => ({ group: each.group, title: each.title, run: () => attempt(each) })),
    report: (): ConformanceReport => {
      const all = cases.map(resultOf)
      return {
        store: name,
        clock,
        // Without `only`, what is skipped needs a port that a service does without, too.
        conforms: all.every(
          ({ outcome }) => outcome === "passed" || (outcome === "skipped" && only === undefined)
        ),
        ports: summary(all),
        cases: all
      }
    },
    close: () => runtime.dispose()
  }
}

/** Runs the contract without a test runner. */
export const checkStore = async <E>(
  name: string,
  store: () => Layer.Layer<StoragePorts, E>,
  options?: ConformanceOptions
): Promise<ConformanceReport> => {
  const conformance = makeConformance(name, store, options)
  try {
    for (const { run } of conformance.cases) await run()
    return conformance.report()
  } finally {
    await conformance.close()
  }
}

/** The test runner of the global scope, else Node's. */
const detectedRunner = (): TestRunner => {
  const scope = globalThis as Partial<TestRunner>
  if (typeof scope.describe === "function" && typeof scope.it === "function") return scope as TestRunner
  // A file that Node's runner runs, also one that was started by a test of vitest, whose environment it inherits.
  if (process.env.VITEST !== undefined && process.env.NODE_TEST_CONTEXT === undefined)
    throw new TypeError(
      'storeContract: hand over the runner: import * as vitest from "vitest", and { runner: vitest }'
    )
  return process.getBuiltinModule("node:test") as unknown as TestRunner
}

const skip = (context: unknown, why: string): void => {
  const { skip } = context as { readonly skip?: (why: string) => void }
  skip?.call(context, why)
}

/** Registers the contract with a test runner. */
export const registerConformance = <E>(
  name: string,
  store: () => Layer.Layer<StoragePorts, E>,
  { report, runner = detectedRunner(), ...options }: RegisteredOptions = {}
): void => {
  const conformance = makeConformance(name, store, options)
  const end = async (): Promise<void> => {
    await conformance.close()
    const made = conformance.report()
    if (typeof report === "string") writeFileSync(report, `${JSON.stringify(made, null, 2)}\n`)
    else report?.(made)
  }
  runner.describe(`${name}: storage contract`, () => {
    for (const [group, cases] of Map.groupBy(conformance.cases, ({ group }) => group))
      runner.describe(group, () => {
        for (const { run, title } of cases)
          runner.it(
            title,
            async (context) => {
              const { error, result } = await run()
              if (result.outcome === "failed") throw error
              if (result.outcome === "skipped") skip(context, result.detail ?? "")
            },
            CASE_TIMEOUT_MS
          )
      })
    const register = runner.afterAll ?? runner.after
    if (register === undefined)
      throw new TypeError("storeContract: the runner has neither afterAll nor after")
    register(end)
  })
}
