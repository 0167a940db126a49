import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import * as fc from "fast-check"
import { mandateShapes } from "./Arbitraries.ts"
import { makeAuditor } from "./Auditor.ts"
import { shownValue } from "./FailureWords.ts"
import {
  approveMandate,
  commands,
  createMandate,
  type LifecycleCommand,
  type LifecycleModel,
  type LifecycleRun
} from "./LifecycleCommands.ts"
import { settleMandate } from "./LifecycleOracle.ts"
import {
  type ClosableTarget,
  callApi,
  faultFound,
  type LifecycleTarget,
  madeTarget,
  untilTargetFault
} from "./LifecycleTarget.ts"
import { parametersOf, propertyName, runAgain } from "./RunParameters.ts"

/** A mandate as it is shown after a step: what invariants are about. */
export interface InspectedMandate {
  // Resources as they are answered.
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  readonly mandate: any
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  readonly authorizations: ReadonlyArray<any>
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  readonly events: ReadonlyArray<any>
  /** The time of the run, as RFC 3339. */
  readonly now: string
}

/** What must hold of a mandate at any time. Throws where it does not. */
export type Invariant = (inspected: InspectedMandate) => void | Promise<void>

/** How many runs there are, what they do, and what must hold. */
export interface LifecycleOptions {
  /** How many runs. Default: 20. */
  readonly numRuns?: number
  /** Steps of a run, at most. Default: 40. */
  readonly maxCommands?: number
  /** Repeats the runs of a failure, with `path` and `replayPath` this very one. Default: FC_SEED, FC_PATH, FC_REPLAY_PATH. */
  readonly seed?: number
  readonly path?: string
  readonly replayPath?: string
  /** The steps of a run. Default: `commands()`. */
  readonly commands?: Array<fc.Arbitrary<LifecycleCommand>>
  readonly invariants?: ReadonlyArray<Invariant>
}

/** What the runs have covered. */
export interface LifecycleStatistics {
  readonly runs: number
  readonly steps: number
  /** How often a mandate or an authorization was seen to go from one state to another, such as `mandate ACTIVE > EXPIRED`. */
  readonly transitions: Readonly<Record<string, number>>
}

/** Entries of a page of the API, at most. */
const PAGE = 100

const demand = (holds: boolean, what: () => string): void => {
  if (!holds) throw new Error(what())
}

/** All entries of a list, newest first or in order. */
const everyEntry = async ({ call }: Pick<LifecycleRun, "call">, path: string) => {
  const entries = []
  for (let cursor = ""; ; ) {
    const { body } = await call("GET", `${path}?limit=${PAGE}${cursor && `&cursor=${cursor}`}`)
    entries.push(...body.data)
    if (!body.has_more) return entries
    cursor = body.next_cursor
  }
}

/** Counts the states in which mandates and authorizations follow each other. */
const makeStatistics = () => {
  const transitions = new Map<string, number>()
  const last = new Map<string, string>()
  return {
    transitions,
    seen: (kind: "mandate" | "authorization", id: string, state: string): void => {
      const before = last.get(id) ?? "nothing"
      last.set(id, state)
      if (before === state) return
      const name = `${kind} ${before} > ${state}`
      transitions.set(name, (transitions.get(name) ?? 0) + 1)
    }
  }
}

/** Reads everything of a mandate, and holds it against the model, a recount of its events, and the invariants. */
const makeInspect =
  (
    { auditor, call }: Pick<LifecycleRun, "auditor" | "call">,
    seen: ReturnType<typeof makeStatistics>["seen"],
    invariants: ReadonlyArray<Invariant>
  ): LifecycleRun["inspect"] =>
  async (model, mandate) => {
    settleMandate(mandate, model.now)
    const now = new Date(model.now).toISOString()
    const path = `/v1/mandates/${mandate.id}`
    const { body: shown } = await call("GET", path)
    const events = await everyEntry({ call }, `${path}/events`)
    const authorizations = (await everyEntry({ call }, `${path}/authorizations`)).reverse()
    auditor.journal(
      mandate.id,
      events.map((event) => canonicalJson(event)),
      now
    )
    auditor.mandateShown(shown, now)
    seen("mandate", mandate.id, shown.state)
    for (const each of authorizations) {
      auditor.authorizationShown(each, now)
      seen("authorization", each.id, each.state)
    }
    const { body: envelope } = await call("GET", `${path}/evidence`)
    auditor.evidenceServed(mandate.id, new TextDecoder().decode(decodeBase64Url(envelope.payload)))
    demand(
      shown.state === mandate.state && shown.version === mandate.version && events.length === mandate.events,
      () =>
        `the mandate is ${shown.state} in version ${shown.version} with ${events.length} events, not ${mandate.state} in ${mandate.version} with ${mandate.events}`
    )
    const states = authorizations.map(({ state }) => state).join()
    const expected = mandate.authorizations.map(({ state }) => state).join()
    demand(states === expected, () => `its authorizations are [${states}], not [${expected}]`)
    for (const invariant of invariants) await invariant({ mandate: shown, authorizations, events, now })
  }

/** The model before the first step. */
export const model = ({ clock, reportGraceSeconds = 0 }: LifecycleTarget): LifecycleModel => ({
  graceMilliseconds: reportGraceSeconds * 1000,
  name: `run-${crypto.randomUUID().slice(0, 8)}`,
  now: clock === undefined ? Date.now() : Date.parse(clock.now()),
  mandates: [],
  authorizations: [],
  sent: []
})

/** What failed, the shortest history of it that was found, and how to run it again. */
const failureOf = <Drawn>(details: fc.RunDetails<Drawn>, property: string, stack: string): Error => {
  const { counterexample, counterexamplePath: path, errorInstance, seed } = details
  const replayPath = /replayPath="([^"]*)"/u.exec(String(counterexample))?.[1] ?? ""
  const cause = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  return new Error([cause, "", ...runAgain(property, { seed, path, replayPath }, stack)].join("\n"), {
    cause: errorInstance
  })
}

/** Notes the steps of a run; the error of a step says which came before it. */
const told = async (work: (note: LifecycleRun["note"]) => Promise<void>): Promise<number> => {
  const history: Array<string> = []
  try {
    await work((words) => history.push(words))
    return history.length
  } catch (cause) {
    const steps = history.map((words, at) => `${at + 1}. ${words}`)
    const what = cause instanceof Error && cause.message !== "" ? cause.message : shownValue(cause)
    throw new Error([what, ...(steps.length === 0 ? [] : ["after", ...steps])].join("\n"), { cause })
  }
}

/**
 * Runs random lives of mandates against a service, and holds every answer against a model that was written from the interface
 * alone, and against a recount of the journals and of evidence. A target that is made by a function is made for each run;
 * `close` ends it. Rejects with the shortest history that was found to fail. `madeBy` is what the caller made the target by,
 * which tells the properties of one program apart.
 */
export const checkLifecycle = async (
  target: LifecycleTarget | (() => Promise<ClosableTarget>),
  options: LifecycleOptions = {},
  madeBy: unknown = target
): Promise<LifecycleStatistics> => {
  const { invariants = [], maxCommands = 40 } = options
  const stack = new Error().stack ?? ""
  const name = propertyName("lifecycle", madeBy, [invariants, maxCommands, options.commands?.length])
  const { replay, runs: parameters } = parametersOf(options, name)
  const statistics = makeStatistics()
  const targetRuns = untilTargetFault()
  let runs = 0
  let steps = 0
  const property = fc.asyncProperty(
    fc.array(mandateShapes, { minLength: 1, maxLength: 2 }),
    fc.commands(options.commands ?? commands(), {
      maxCommands,
      size: "max",
      ...replay
    }),
    (shapes, drawn) =>
      targetRuns.run(async () => {
        const made = await madeTarget("checkLifecycle", target)
        const call = callApi(made)
        const auditor = makeAuditor({
          check: (name, holds, about) => demand(holds, () => `${name}: ${about}`)
        })
        const inspect = makeInspect({ auditor, call }, statistics.seen, invariants)
        try {
          steps += await told(async (note) => {
            const setup = () => ({ model: model(made), real: { target: made, call, auditor, note, inspect } })
            const begun = shapes.flatMap((shape) => [createMandate(shape), approveMandate(0)])
            await fc.asyncModelRun(setup, [...begun, ...drawn])
          })
          runs += 1
        } finally {
          if (typeof target === "function") await made.close?.()
        }
      })
  )
  const details = await fc.check(property, parameters)
  const fault = targetRuns.fault()
  if (fault !== undefined) throw faultFound(details.errorInstance, fault)
  if (details.failed) throw failureOf(details, name, stack)
  return { runs, steps, transitions: Object.fromEntries([...statistics.transitions].sort()) }
}
