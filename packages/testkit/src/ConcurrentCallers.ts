import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { commitmentOf, OPENING_BYTES } from "@svc/protocol/evidence/Commitment"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import type { JsonValue } from "@svc/protocol/json/Json"
import * as fc from "fast-check"
import { type MandateShape, shapeBody } from "./Arbitraries.ts"
import { answerOf, expectedAnswer } from "./LifecycleCommands.ts"
import * as Oracle from "./LifecycleOracle.ts"
import {
  type ApiAnswer,
  type ClosableTarget,
  callApi,
  faultFound,
  type LifecycleTarget,
  madeTarget,
  TargetFault,
  untilTargetFault
} from "./LifecycleTarget.ts"
import { parametersOf, propertyName, type RunOptions, runAgain } from "./RunParameters.ts"

/** How many callers act at once, and how often each. */
export interface LinearizabilityOptions extends RunOptions {
  /** Callers that act at once. Default: 3. */
  readonly callers?: number
  /** Requests of each. Default: 5. More of both takes longer to explain, and much longer if nothing does. */
  readonly requests?: number
}

/** What the runs have covered. */
export interface LinearizabilityStatistics {
  readonly runs: number
  readonly requests: number
  /** How often each answer was seen, such as `commit: COMMITTED`. */
  readonly answers: Readonly<Record<string, number>>
}

/** What a caller does next. Authorizations have numbers; those up to `OPEN_BEFORE` are open when a run begins. */
type Operation =
  | { readonly kind: "propose"; readonly number: number; readonly amount: number; readonly key: string }
  | {
      readonly kind: "commit" | "cancel"
      readonly number: number
      readonly variant: number
      readonly key: string
    }
  | { readonly kind: "revoke"; readonly reason: string; readonly key: string }
  | { readonly kind: "read" }
  | { readonly kind: "look"; readonly number: number }

type Write = Extract<Operation, { readonly key: string }>

/** A request, between which moments it was under way, and what came of it. */
interface Observed {
  readonly operation: Operation
  readonly caller: number
  readonly invoked: number
  readonly answered: number
  readonly output: string
}

/** Everything that a sequential execution needs. */
interface Sequential {
  readonly mandate: Oracle.OracleMandate
  /** What each key was used for, and the number of the authorization that it made or reported on. */
  readonly keys: Map<string, { readonly input: string; readonly number: number | undefined }>
}

const OPEN_BEFORE = 2
const NUMBERS = 7
const AMOUNT = 1000
const DAY = 86_400_000

/** Four executions or 3500 in all, of which two and 2000 are open: what comes at once does not all fit. Time plays no part. */
const SHAPE: MandateShape = {
  kind: "RECURRING",
  subject: "user_1",
  maxAmount: 2000,
  minAmount: 1,
  merchants: false,
  total: 3500,
  executions: 4,
  day: { amount: 1_000_000 },
  month: { amount: 1_000_000 },
  startsIn: 0,
  lasts: 45 * DAY,
  waits: DAY
}

const inputOf = (operation: Write): string => {
  const { key: _, ...input } = operation
  return canonicalJson(input as JsonValue)
}

const authorizationOf = ({ authorizations }: Oracle.OracleMandate, number: number | undefined) =>
  authorizations.find((entry) => entry.number === number)

/** The state that a write is answered with: of the authorization that it is about, or of the mandate. */
const stateOf = (mandate: Oracle.OracleMandate, number: number | undefined): string =>
  number === undefined ? mandate.state : (authorizationOf(mandate, number)?.state ?? "unknown")

const sumOf = ({ authorizations }: Oracle.OracleMandate, state: string): number =>
  authorizations.filter((entry) => entry.state === state).reduce((sum, { amount }) => sum + amount, 0)

const shownMandate = (mandate: Oracle.OracleMandate): string =>
  `${mandate.state}, ${sumOf(mandate, "RESERVED")} reserved, ${sumOf(mandate, "COMMITTED")} committed`

const shownAuthorization = (mandate: Oracle.OracleMandate, number: number): string => {
  const state = stateOf(mandate, number)
  return `${state}${state === "RESERVED" && mandate.state === "ACTIVE" ? ", to be executed" : ""}`
}

/** What a write does alone, by the model; `now` is the same for all, since nothing here waits. */
const decide = (state: Sequential, operation: Write, now: number): string => {
  const { mandate } = state
  switch (operation.kind) {
    case "propose": {
      if (authorizationOf(mandate, operation.number) !== undefined) return "CommitmentReused"
      const shape = {
        amount: operation.amount,
        currency: "EUR",
        action: "card.create",
        merchant: undefined
      } as const
      Oracle.decideProposal(mandate, operation.number, { ...shape, window: 86_400 }, { now, grace: 0 })
      return "ok"
    }
    case "commit":
    case "cancel": {
      const authorization = authorizationOf(mandate, operation.number)
      if (authorization === undefined) return "NotFound"
      return Oracle.reportOutcome(authorization, `${operation.kind} ${operation.variant}`, now)
    }
    case "revoke":
      return Oracle.revoke(mandate, operation.reason, now)
  }
}

const numberOf = (operation: Write): number | undefined =>
  operation.kind === "revoke" ? undefined : operation.number

/** One request alone: the state after it and the answer. The state before is left as it was. */
const inSequence = (before: Sequential, operation: Operation, now: number): readonly [Sequential, string] => {
  if (operation.kind === "read") return [before, shownMandate(before.mandate)]
  if (operation.kind === "look") return [before, shownAuthorization(before.mandate, operation.number)]
  const input = inputOf(operation)
  const held = before.keys.get(operation.key)
  if (held !== undefined) {
    if (held.input !== input) return [before, "idempotency_key_reused"]
    return [before, `${stateOf(before.mandate, held.number)} again`]
  }
  const state = structuredClone(before)
  const expected = decide(state, operation, now)
  if (expected !== "ok") return [state, expectedAnswer(expected)]
  const number = numberOf(operation)
  state.keys.set(operation.key, { input, number })
  return [state, stateOf(state.mandate, number)]
}

const textOf = ({ keys, mandate }: Sequential): string =>
  JSON.stringify([
    mandate.state,
    mandate.reason,
    mandate.authorizations.map(({ conflicts, late, number, report, state }) => [
      number,
      state,
      report,
      late,
      [...conflicts].sort()
    ]),
    [...keys.keys()].sort()
  ])

/**
 * Whether some order of the requests, each between its beginning and its answer, gives the answers. Those that are not
 * `told` may be anything. Searches all orders, and nothing twice.
 */
const isExplained = (
  begin: Sequential,
  history: ReadonlyArray<Observed>,
  now: number,
  told: (seen: Observed) => boolean = () => true
): boolean => {
  const visited = new Set<string>()
  const search = (state: Sequential, left: ReadonlyArray<Observed>): boolean => {
    if (left.length === 0) return true
    const name = `${left.map(({ invoked }) => invoked)} ${textOf(state)}`
    if (visited.has(name)) return false
    visited.add(name)
    const firstAnswer = Math.min(...left.map(({ answered }) => answered))
    return left.some((next) => {
      if (next.invoked > firstAnswer) return false
      const [after, output] = inSequence(state, next.operation, now)
      if (told(next) && output !== next.output) return false
      return search(
        after,
        left.filter((other) => other !== next)
      )
    })
  }
  return search(begin, history)
}

/** As few of the answers as there have to be for no order to explain them. */
const contradiction = (
  begin: Sequential,
  history: ReadonlyArray<Observed>,
  now: number
): ReadonlyArray<Observed> =>
  history.reduce<ReadonlyArray<Observed>>((kept, seen) => {
    const fewer = kept.filter((other) => other !== seen)
    return isExplained(begin, history, now, (other) => fewer.includes(other)) ? kept : fewer
  }, history)

const words = (operation: Operation): string => {
  switch (operation.kind) {
    case "propose":
      return `authorization ${operation.number} is proposed for ${operation.amount} (key ${operation.key})`
    case "commit":
      return `authorization ${operation.number} is reported as committed, as act ${operation.variant} (key ${operation.key})`
    case "cancel":
      return `authorization ${operation.number} is reported as cancelled, for card ${operation.variant} (key ${operation.key})`
    case "revoke":
      return `the mandate is revoked for ${operation.reason} (key ${operation.key})`
    case "read":
      return "the mandate is read"
    case "look":
      return `authorization ${operation.number} is read`
  }
}

/** The numbers of what is reserved. */
const openOf = ({ authorizations }: Oracle.OracleMandate): ReadonlyArray<number> =>
  authorizations.filter(({ state }) => state === "RESERVED").map(({ number }) => number)

/** What there was before, and a history in the order of its beginnings, with what was under way at the same time. */
const told = (
  begin: Sequential,
  history: ReadonlyArray<Observed>,
  contradicting: ReadonlyArray<Observed>
): ReadonlyArray<string> => {
  const inOrder = [...history].sort((one, other) => one.invoked - other.invoked)
  const placeOf = (seen: Observed): number => inOrder.indexOf(seen) + 1
  const lines = inOrder.map((seen) => {
    const beside = inOrder
      .filter((other) => other !== seen && other.invoked < seen.answered && seen.invoked < other.answered)
      .map(placeOf)
    const meanwhile = beside.length === 0 ? "" : ` (at once with ${beside.join(", ")})`
    return `${placeOf(seen)}. caller ${seen.caller}: ${words(seen.operation)}: ${seen.output}${meanwhile}`
  })
  const places = contradicting.map(placeOf).sort((one, other) => one - other)
  const what =
    places.length === 1
      ? `the answer ${places} cannot be true`
      : `the answers ${places.join(" and ")} cannot all be true`
  return [
    `${what}, in whatever order the requests took effect`,
    `before: ${shownMandate(begin.mandate)}; open are the authorizations ${openOf(begin.mandate).join(" and ")}`,
    ...lines
  ]
}

const openNumber = fc.integer({ min: 1, max: OPEN_BEFORE })
const key = fc.constantFrom("a", "b", "c", "d", "e", "f")
const variant = fc.constantFrom(0, 0, 0, 1)

const operations: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("propose" as const),
      number: fc.integer({ min: OPEN_BEFORE + 1, max: NUMBERS }),
      amount: fc.constantFrom(500, AMOUNT),
      key
    })
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("commit" as const, "cancel" as const),
      number: openNumber,
      variant,
      key
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("revoke" as const), reason: fc.constantFrom("r", "s"), key })
  },
  { weight: 3, arbitrary: fc.constant({ kind: "read" as const }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("look" as const), number: openNumber }) }
)

/** How often a run is repeated that failed once: the order of its requests is up to the service. */
const REPEATS = 20

interface Prepared {
  readonly mandate: string
  readonly ids: ReadonlyMap<number, string>
  readonly openings: ReadonlyMap<number, Uint8Array>
  readonly state: Sequential
  readonly now: number
  readonly run: string
}

type Call = ReturnType<typeof callApi>

const succeeded = async (answer: Promise<ApiAnswer>): Promise<ApiAnswer["body"]> => {
  const { body, status } = await answer
  if (status >= 300) throw new TargetFault(`a run cannot begin: ${status} ${body?.code}: ${body?.detail}`)
  return body
}

const proposal = (number: number, amount: number, opening: Uint8Array) => ({
  external_reference: `order ${number}`,
  execution_window_seconds: 86_400,
  commitment: commitmentOf(opening),
  proposed_action: { action: "card.create", payment: { amount, currency: "EUR" } }
})

/** Makes the mandate that callers share, with what is open before. */
const prepare = async (target: LifecycleTarget, call: Call): Promise<Prepared> => {
  const now = target.clock === undefined ? Date.now() : Date.parse(target.clock.now())
  const run = crypto.randomUUID()
  const shape = { ...SHAPE, subject: `user of ${run}` }
  const { id: mandate } = await succeeded(call("POST", "/v1/mandates", shapeBody(shape, now), run))
  await target.approve({ id: mandate, subject_reference: shape.subject })
  const model = Oracle.newMandate(shape, now)
  Oracle.answer(model, true, now)
  const numbers = Array.from({ length: NUMBERS }, (_, index) => index + 1)
  const openings = new Map(
    numbers.map((number) => [number, crypto.getRandomValues(new Uint8Array(OPENING_BYTES))] as const)
  )
  const ids = new Map<number, string>()
  const state: Sequential = { mandate: model, keys: new Map() }
  for (let number = 1; number <= OPEN_BEFORE; number++) {
    const body = proposal(number, AMOUNT, openings.get(number) ?? new Uint8Array())
    const made = await succeeded(
      call("POST", `/v1/mandates/${mandate}/authorizations`, body, `${run}-open-${number}`)
    )
    ids.set(number, made.id)
    decide(state, { kind: "propose", number, amount: AMOUNT, key: "" }, now)
  }
  return { mandate, ids, openings, state, now, run }
}

/** Sends a request, and says what came of it in the words of the model. */
const perform = async (call: Call, world: Prepared, operation: Operation): Promise<string> => {
  const { ids, mandate, now, openings, run } = world
  if (operation.kind === "read") {
    const { body } = await call("GET", `/v1/mandates/${mandate}`)
    const { committed_amount: committed, reserved_amount: reserved } = body.usage
    return `${body.state}, ${reserved} reserved, ${committed} committed`
  }
  if (operation.kind === "look") {
    const { body } = await call("GET", `/v1/authorizations/${ids.get(operation.number)}`)
    return `${body.state}${body.can_execute === true ? ", to be executed" : ""}`
  }
  const send = (method: string, path: string, body: object) =>
    call(method, path, body, `${run}-${operation.key}`)
  const write = (): Promise<ApiAnswer> => {
    switch (operation.kind) {
      case "propose": {
        const opening = openings.get(operation.number) ?? new Uint8Array()
        return send(
          "POST",
          `/v1/mandates/${mandate}/authorizations`,
          proposal(operation.number, operation.amount, opening)
        )
      }
      case "commit":
        return send("PUT", `/v1/authorizations/${ids.get(operation.number)}/commit`, {
          external_action_reference: `act ${operation.variant}`,
          provider_transaction_reference: "txn_1",
          reported_accepted_at: new Date(now).toISOString(),
          commitment_opening: encodeBase64Url(openings.get(operation.number) ?? new Uint8Array())
        })
      case "cancel":
        return send("PUT", `/v1/authorizations/${ids.get(operation.number)}/cancellation`, {
          reason: "EXECUTION_FAILED",
          execution_disposition: "NEVER_BECAME_POSSIBLE",
          external_credential_reference: `card ${operation.variant}`
        })
      case "revoke":
        return send("PUT", `/v1/mandates/${mandate}/revocation`, { reason: operation.reason })
    }
  }
  const answer = await write()
  if (answer.status >= 300) return answerOf(answer)
  return `${answer.body.state}${answer.isReplay ? " again" : ""}`
}

/** Lets the callers act at once, and records what they saw. */
const observe = async (
  call: Call,
  world: Prepared,
  callers: ReadonlyArray<ReadonlyArray<Operation>>
): Promise<ReadonlyArray<Observed>> => {
  let moment = 0
  const history: Array<Observed> = []
  const act = async (todo: ReadonlyArray<Operation>, caller: number): Promise<void> => {
    for (const operation of todo) {
      const invoked = moment++
      const output = await perform(call, world, operation)
      history.push({ operation, caller: caller + 1, invoked, answered: moment++, output })
    }
  }
  await Promise.all(callers.map(act))
  return history
}

/** What failed, the history of it, and how to run it again. */
const failureOf = <Drawn>(details: fc.RunDetails<Drawn>, property: string, stack: string): Error => {
  const { counterexamplePath: path, errorInstance, seed } = details
  const cause = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  return new Error([cause, "", ...runAgain(property, { seed, path }, stack)].join("\n"), {
    cause: errorInstance
  })
}

/**
 * Lets several callers act on one mandate at once, time and again, and checks that their answers are those of some order of
 * the requests, each of which took effect at one moment between its beginning and its answer. The order is looked for with a
 * model that was written from the interface alone. Rejects with the shortest history that was found to have none. `madeBy` is
 * what the caller made the target by, which tells the properties of one program apart.
 */
export const checkLinearizability = async (
  target: LifecycleTarget | (() => Promise<ClosableTarget>),
  options: LinearizabilityOptions = {},
  madeBy: unknown = target
): Promise<LinearizabilityStatistics> => {
  const { callers = 3, requests = 5 } = options
  const stack = new Error().stack ?? ""
  const name = propertyName("callers", madeBy, [callers, requests])
  const { runs: parameters } = parametersOf(options, name)
  const repeats = "path" in parameters ? REPEATS : 1
  const answers: Record<string, number> = {}
  const targetRuns = untilTargetFault()
  let runs = 0
  let sent = 0

  const runOnce = async (drawn: ReadonlyArray<ReadonlyArray<Operation>>): Promise<void> => {
    const made = await madeTarget("checkLinearizability", target)
    try {
      const call = callApi(made)
      const world = await prepare(made, call)
      const history = await observe(call, world, drawn)
      for (const { operation, output } of history) {
        const answer = `${operation.kind}: ${output}`
        answers[answer] = (answers[answer] ?? 0) + 1
      }
      sent += history.length
      runs += 1
      if (isExplained(world.state, history, world.now)) return
      throw new Error(told(world.state, history, contradiction(world.state, history, world.now)).join("\n"))
    } finally {
      if (typeof target === "function") await made.close?.()
    }
  }

  const property = fc.asyncProperty(
    fc.array(fc.array(operations, { minLength: 1, maxLength: requests, size: "max" }), {
      minLength: 2,
      maxLength: callers,
      size: "max"
    }),
    (drawn) =>
      targetRuns.run(async () => {
        for (let time = 0; time < repeats; time++) await runOnce(drawn)
      })
  )
  const details = await fc.check(property, parameters)
  const fault = targetRuns.fault()
  if (fault !== undefined) throw faultFound(details.errorInstance, fault)
  if (details.failed) throw failureOf(details, name, stack)
  return { runs, requests: sent, answers: Object.fromEntries(Object.entries(answers).sort()) }
}
