import { makeKnownStreams } from "@svc/domain/engine/KnownStreams"
import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import { applyDue } from "@svc/domain/mandate/ApplyDue"
import { authorizationResourceOf } from "@svc/domain/mandate/AuthorizationResource"
import { type Command, decide } from "@svc/domain/mandate/Decide"
import { evolve } from "@svc/domain/mandate/Evolve"
import { mandateResourceOf } from "@svc/domain/mandate/MandateResource"
import type { StreamState } from "@svc/domain/mandate/MandateState"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import type { CancellationBody, CommitBody, CreateAuthorizationBody } from "@svc/protocol/Authorization"
import type { JsonObject } from "@svc/protocol/json/Json"
import { type Instant, NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect, Layer, ManagedRuntime, Result } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { replayJournal, textOf } from "./JournalReplay.ts"
import {
  type Caller,
  cancelReport,
  commitReport,
  HARNESS_START,
  makeCaller,
  type ProgramPorts,
  proposalBody,
  recurringBody,
  seededBytes,
  storedJournal
} from "./ProgramHarness.ts"

/** What one client does next. Authorizations are named by their number; 1 to `OPEN_BEFORE` are open beforehand. */
export type ClientOperation =
  | { readonly kind: "propose"; readonly number: number; readonly amount: number; readonly key: string }
  | { readonly kind: "commit"; readonly number: number; readonly variant: number; readonly key: string }
  | { readonly kind: "cancel"; readonly number: number; readonly key: string }
  | { readonly kind: "revoke"; readonly reason: string; readonly key: string }
  | { readonly kind: "read" }
  | { readonly kind: "look"; readonly number: number }
  | { readonly kind: "tick"; readonly seconds: number }

/** An operation with the moments between which it happened, and its result as text. */
export interface Observed {
  readonly operation: ClientOperation
  readonly invoked: number
  readonly answered: number
  readonly output: string
}

/** Authorizations that are open when a history begins. */
export const OPEN_BEFORE = 2

/** A mandate and a point in time: all that a sequential execution needs. */
export interface SequentialState {
  readonly stream: StreamState
  readonly now: Instant
  /** Input and authorization number of each bound key. */
  readonly keys: ReadonlyMap<string, { readonly input: string; readonly number: number | undefined }>
  /** Identifiers by number. */
  readonly ids: ReadonlyMap<number, string>
  readonly commitments: ReadonlySet<number>
}

const shownAuthorization = ({ id: _, ...rest }: { readonly id: string }): string => textOf(rest)

const refusalText = (refusal: { readonly _tag: string }): string => {
  const { _tag, currentState } = refusal as { readonly _tag: string; readonly currentState?: string }
  return currentState === undefined ? _tag : `${_tag} ${currentState}`
}

const answeredText = (replayed: boolean, text: string): string => `${replayed ? "replayed" : "made"} ${text}`

const settled = (state: SequentialState): SequentialState => ({
  ...state,
  stream: applyDue(state.stream, state.now).stream
})

const show = (state: SequentialState, number: number | undefined): string => {
  const { now, stream } = state
  if (number === undefined) return textOf(mandateResourceOf(stream.mandate, now))
  const authorization = stream.authorizations.get(state.ids.get(number) ?? "")
  return authorization === undefined
    ? "NotFound"
    : shownAuthorization(authorizationResourceOf(authorization, stream.mandate, now))
}

type Write = Extract<ClientOperation, { readonly key: string }>

const commandOf = (operation: Write, ids: ReadonlyMap<number, string>): Command => {
  switch (operation.kind) {
    case "propose":
      return {
        _tag: "Propose",
        authorizationId: `aut of ${operation.number}`,
        reportGraceSeconds: 0,
        body: bodyOf(operation) as unknown as CreateAuthorizationBody
      }
    case "commit":
      return {
        _tag: "Commit",
        authorizationId: ids.get(operation.number) ?? "",
        body: bodyOf(operation) as unknown as CommitBody
      }
    case "cancel":
      return {
        _tag: "Cancel",
        authorizationId: ids.get(operation.number) ?? "",
        body: bodyOf(operation) as unknown as CancellationBody
      }
    case "revoke":
      return { _tag: "Revoke", reason: operation.reason }
  }
}

const bodyOf = (operation: Write): JsonObject => {
  switch (operation.kind) {
    case "propose":
      return proposalBody(operation.number, operation.amount)
    case "commit":
      return commitReport(operation.number, { external_action_reference: `act ${operation.variant}` })
    case "cancel":
      return cancelReport()
    case "revoke":
      return { reason: operation.reason }
  }
}

const writeInSequence = (state: SequentialState, operation: Write): readonly [SequentialState, string] => {
  const name = operation.key
  const number = operation.kind === "revoke" ? undefined : operation.number
  const input = textOf([operation.kind, bodyOf(operation), number])
  const held = state.keys.get(name)
  if (held !== undefined) {
    if (held.input !== input) return [state, "IdempotencyKeyReused"]
    const current = settled(state)
    return [current, answeredText(true, show(current, held.number))]
  }
  const current = settled(state)
  if (operation.kind === "propose" && state.commitments.has(operation.number))
    return [state, "CommitmentReused"]
  const command = commandOf(operation, current.ids)
  const verdict = decide(current.stream, 0, command, current.now)
  if (Result.isFailure(verdict)) return [current, refusalText(verdict.failure)]
  const { facts, refusal } = verdict.success
  const stream = facts.reduce<StreamState>(evolve, current.stream)
  if (refusal !== undefined) return [{ ...current, stream }, refusalText(refusal)]
  const next: SequentialState = {
    ...current,
    stream,
    keys: new Map(current.keys).set(name, { input, number }),
    ...(command._tag === "Propose" && number !== undefined
      ? {
          ids: new Map(current.ids).set(number, command.authorizationId),
          commitments: new Set(current.commitments).add(number)
        }
      : {})
  }
  return [next, answeredText(false, show(next, number))]
}

/** One operation alone, by the deciders: the specification. */
export const inSequence = (
  state: SequentialState,
  operation: ClientOperation
): readonly [SequentialState, string] => {
  switch (operation.kind) {
    case "tick":
      return [{ ...state, now: state.now + BigInt(operation.seconds) * NANOS_PER_SECOND }, "ok"]
    case "read":
    case "look": {
      const current = settled(state)
      return [current, show(current, operation.kind === "look" ? operation.number : undefined)]
    }
    default:
      return writeInSequence(state, operation)
  }
}

/**
 * Whether some order of the operations, each between its invocation and its response, gives every result that was
 * observed. Searches all orders, and no state twice.
 */
export const isLinearizable = (initial: SequentialState, history: ReadonlyArray<Observed>): boolean => {
  const visited = new Set<string>()
  const search = (state: SequentialState, left: ReadonlyArray<Observed>): boolean => {
    if (left.length === 0) return true
    const seen = `${left.map(({ invoked }) => invoked)} ${textOf({ ...state, commitments: [...state.commitments] })}`
    if (visited.has(seen)) return false
    visited.add(seen)
    const firstAnswer = Math.min(...left.map(({ answered }) => answered))
    return left.some((next) => {
      if (next.invoked > firstAnswer) return false
      const [after, output] = inSequence(state, next.operation)
      return (
        output === next.output &&
        search(
          after,
          left.filter((other) => other !== next)
        )
      )
    })
  }
  return search(initial, history)
}

/** Turns of the scheduler that a pause may take, at most one less than this. */
const LONGEST_PAUSE = 6

/** The turns of fibers that run as if each were a process of its own: none waits for another. */
const separateProcesses = Layer.sync(StreamTurns, () => ({
  length: () => 0,
  inTurn: () => (effect) => effect,
  sharedTurn: (_key, _patience, work, item) => work.alone(item, false),
  placeOf: () => undefined,
  rememberPlace: () => undefined,
  known: makeKnownStreams()
}))

/** Longer than any clock of a test goes on, in seconds. */
const ENDLESS_PATIENCE_SECONDS = 1e9

/** The turns of fibers that run in so many processes, each write in any of them. None is given up because time passes. */
const turnsOfProcesses = (count: number, draw: () => number) =>
  Layer.sync(StreamTurns, () => {
    const processes = Array.from({ length: count }, makeTurns)
    const any = () => processes[draw() % count]!
    return {
      length: (key) => any().length(key),
      inTurn: (key) => any().inTurn(key),
      sharedTurn: (key, _patience, work, item) => any().sharedTurn(key, ENDLESS_PATIENCE_SECONDS, work, item),
      placeOf: (organization, stream) => any().placeOf(organization, stream),
      rememberPlace: (organization, stream, place) => any().rememberPlace(organization, stream, place),
      known: {
        find: (key, store, at) => any().known.find(key, store, at),
        know: (key, stream, at) => any().known.know(key, stream, at),
        noteClock: (reading) => any().known.noteClock(reading),
        doubt: (key, at) => any().known.doubt(key, at)
      }
    }
  })

/** How many processes the fibers of a test stand for: within one, writes to a mandate wait for one another. */
export type Processes = 1 | 2 | "each"

/**
 * Puts random pauses around every call of a store, so that fibers interleave in it in many ways, as those of many processes
 * do.
 */
export const interleavedStore = <Provided, E, R>(
  store: Layer.Layer<Provided | MandateStore, E, R>,
  pauses: () => number,
  processes: Processes = "each"
): Layer.Layer<Provided | MandateStore, E, R> => {
  const pause = Effect.suspend(() => Effect.repeat(Effect.yieldNow, { times: pauses() }))
  const around = <A, Failure>(call: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
    pause.pipe(
      Effect.andThen(Effect.exit(call)),
      Effect.tap(() => pause),
      Effect.flatten
    )
  const pausing = Layer.effect(
    MandateStore,
    Effect.map(MandateStore, (inner) =>
      MandateStore.of({
        ...inner,
        load: (query) => around(inner.load(query)),
        append: (change) => around(inner.append(change)),
        listMandates: (query) => around(inner.listMandates(query)),
        listAuthorizations: (query) => around(inner.listAuthorizations(query))
      })
    )
  )
  return pausing.pipe(
    Layer.provideMerge(store),
    Layer.merge(processes === "each" ? separateProcesses : turnsOfProcesses(processes, pauses))
  ) as Layer.Layer<Provided | MandateStore, E, R>
}

type Ran = Effect.Effect<string, never, ProgramPorts>

const outputOf = (
  write: Effect.Effect<
    { readonly resource: { readonly id: string }; readonly replayed: boolean },
    { readonly _tag: string },
    ProgramPorts
  >
): Ran =>
  write.pipe(
    Effect.map(({ replayed, resource }) =>
      answeredText(replayed, resource.id.startsWith("aut_") ? shownAuthorization(resource) : textOf(resource))
    ),
    Effect.catch((refusal) => Effect.succeed(refusalText(refusal)))
  )

const perform = (
  caller: Caller,
  mandate: string,
  ids: ReadonlyMap<number, string>,
  operation: ClientOperation
): Ran => {
  const id = "number" in operation ? (ids.get(operation.number) ?? "") : ""
  switch (operation.kind) {
    case "tick":
      return Effect.as(TestClock.adjust(`${operation.seconds} seconds`), "ok")
    case "read":
      return caller.read(mandate).pipe(Effect.map(textOf), Effect.orDie)
    case "look":
      return caller.readAuthorization(id).pipe(Effect.map(shownAuthorization), Effect.orDie)
    case "propose":
      return outputOf(caller.propose(mandate, bodyOf(operation), operation.key))
    case "commit":
      return outputOf(caller.commit(id, bodyOf(operation), operation.key))
    case "cancel":
      return outputOf(caller.cancel(id, bodyOf(operation), operation.key))
    case "revoke":
      return outputOf(caller.revoke(mandate, bodyOf(operation), operation.key))
  }
}

/** The mandate that the clients share: three allowed executions a day in all, two of them open. */
const prepare = Effect.fnUntraced(function* (caller: Caller) {
  yield* TestClock.setTime(HARNESS_START)
  const { resource } = yield* caller.create(
    recurringBody({ periods: [{ unit: "DAY", max_amount: 3500 }], max_executions: 3 })
  )
  yield* caller.approve(resource.id)
  const ids = new Map<number, string>()
  for (let number = 1; number <= OPEN_BEFORE; number++) {
    const proposed = yield* caller.propose(resource.id, proposalBody(number), `before-${number}`)
    ids.set(number, proposed.resource.id)
  }
  const { stream } = replayJournal(yield* storedJournal(caller.organization.id, resource.id))
  const initial: SequentialState = {
    stream,
    now: BigInt(HARNESS_START) * NANOS_PER_MILLISECOND,
    keys: new Map(),
    ids,
    commitments: new Set(ids.keys())
  }
  return { mandate: resource.id, ids, initial }
})

/** Runs the clients at once and records what they saw. */
export const observeHistory = Effect.fn("observeHistory")(function* (
  clients: ReadonlyArray<ReadonlyArray<ClientOperation>>
) {
  const caller = makeCaller()
  const { ids, initial, mandate } = yield* prepare(caller)
  let moment = 0
  const history: Array<Observed> = []
  const client = Effect.fnUntraced(function* (operations: ReadonlyArray<ClientOperation>) {
    for (const operation of operations) {
      const invoked = moment++
      const output = yield* perform(caller, mandate, ids, operation)
      history.push({ operation, invoked, answered: moment++, output })
    }
  })
  yield* Effect.all(clients.map(client), { concurrency: "unbounded" })
  return { initial, history }
})

const openNumber = fc.integer({ min: 1, max: OPEN_BEFORE })
const key = fc.constantFrom("a", "b", "c", "d")

const operations: fc.Arbitrary<ClientOperation> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("propose" as const),
      number: fc.integer({ min: OPEN_BEFORE, max: 8 }),
      amount: fc.constantFrom(500, 1000),
      key
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("commit" as const),
      number: openNumber,
      variant: fc.nat({ max: 1 }),
      key
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("cancel" as const), number: openNumber, key })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("revoke" as const),
      reason: fc.constantFrom("r", "s"),
      key
    })
  },
  { weight: 2, arbitrary: fc.constant({ kind: "read" as const }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("look" as const), number: openNumber }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("tick" as const), seconds: fc.constantFrom(10, 300, 86_400) })
  }
)

/** How many clients act at once, and how often each. */
export const CLIENTS = 3
export const OPERATIONS_PER_CLIENT = 6

const clients = fc.array(
  fc.array(operations, { minLength: OPERATIONS_PER_CLIENT, maxLength: OPERATIONS_PER_CLIENT }),
  { minLength: CLIENTS, maxLength: CLIENTS }
)

export interface LinearizabilityRun {
  /** A new store and everything beside it; `pauses` is for {@link interleavedStore}. */
  readonly ports: (pauses: () => number) => Layer.Layer<ProgramPorts>
  readonly runs: number
  readonly seed?: number
  readonly path?: string
}

/** Runs random histories on one mandate, and fails on one that no sequential order explains, with its seed. */
export const checkLinearizability = (options: LinearizabilityRun): Promise<void> =>
  fc.assert(
    fc.asyncProperty(clients, fc.noShrink(fc.nat()), async (given, seed) => {
      const draw = seededBytes(seed)
      const ports = options.ports(() => (draw(1)[0] ?? 0) % LONGEST_PAUSE)
      const runtime = ManagedRuntime.make(Layer.mergeAll(ports, TestClock.layer()))
      try {
        const { history, initial } = await runtime.runPromise(Effect.orDie(observeHistory(given)))
        if (!isLinearizable(initial, history)) {
          throw new Error(`no order explains:\n${history.map((seen) => JSON.stringify(seen)).join("\n")}`)
        }
      } finally {
        await runtime.dispose()
      }
    }),
    {
      numRuns: options.runs,
      ...(options.seed === undefined ? {} : { seed: options.seed }),
      ...(options.path === undefined ? {} : { path: options.path })
    }
  )
