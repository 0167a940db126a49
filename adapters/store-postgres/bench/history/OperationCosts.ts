import { randomBytes } from "node:crypto"
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { EventFeed } from "@svc/domain/ports/EventFeed"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { readEvidence } from "@svc/domain/programs/Evidence"
import type { Instant } from "@svc/protocol/Timestamp"
import type { ProgramPorts } from "@svc/testkit/ProgramHarness"
import { Effect } from "effect"
import { executedPlans, NOTE_PLANS_AND_COSTS } from "../../test/ExecutedPlans.ts"
import { type History, operationsOn } from "../../test/MandateOperations.ts"
import { isHistoryLook, processOn } from "../../test/ProgramsOnPostgres.ts"
import { startRecorder, type WireRecorder } from "../../test/WireRecorder.ts"
import { serverTime, sessionsOf } from "./ServerTime.ts"

/** Times that everything is done before it is measured, so that its plans are made then. */
const WARMING = 10
/** Each round measures every subject once, by as many runs of each operation. */
const ROUNDS = 9
const RUNS = 15
/** Events that evidence covers in a round. */
const EVIDENCE_EVENTS = 20_000
/** Measurements of buffers: a run may also clean up after earlier ones. */
const BUFFER_RUNS = 3

const APPLICATION = "svc_bench"

const EVIDENCE = "evidence, per event"

/** What the operations need, which differs from one to another. */
type Needed = ProgramPorts | EventFeed

type Operation = Effect.Effect<unknown, unknown, Needed>

/** What one run of an operation takes of the server. Of what disturbs a measurement, nothing makes it less: the least counts. */
export interface Cost {
  /** Time on a processor, in microseconds. */
  readonly time: number
  /** Buffers that its statements touch, those within functions included. */
  readonly buffers: number
}

/** By operation. */
export type Costs = ReadonlyMap<string, Cost>

/** The sessions of a measurement, one for reads and one for writes, which keep the plans that they made. */
export interface Sessions {
  readonly pids: ReadonlyArray<number>
  readonly timed: Process
  readonly noted: Process
  readonly recorder: WireRecorder
}

type Process = Effect.Success<ReturnType<typeof processOn>>

/** What is measured: the mandate, and the sessions that work on it. */
export interface Subject {
  readonly history: History
  readonly sessions: Sessions
}

const operationsOf = (history: History, now: Instant): ReadonlyArray<readonly [string, Operation]> =>
  operationsOn(history, now)

const evidenceOf = ({ caller, mandate }: History) =>
  readEvidence({ organization: caller.organization.id, mandateId: mandate })

const oneSessionEach = (url: string, schema: string, applicationName: string) =>
  processOn({
    url,
    schema,
    applicationName,
    readConnections: 1,
    readConnectionLifetime: "1 hour",
    writeConnections: 1,
    writeConnectionLifetime: "1 hour"
  })

const runAll = (history: History, now: Instant) =>
  Effect.gen(function* () {
    for (const [, operation] of operationsOf(history, now)) yield* operation
    yield* evidenceOf(history)
  })

/** Opens sessions, which make their plans on the tables as they are, by what is done to a mandate. */
export const openSessions = (
  client: PgClient,
  place: { readonly url: string; readonly schema: string },
  history: History,
  now: Instant
) =>
  Effect.gen(function* () {
    const recorder = yield* Effect.acquireRelease(
      Effect.promise(() =>
        startRecorder(place.url, { options: NOTE_PLANS_AND_COSTS, ignored: isHistoryLook })
      ),
      (one) => Effect.promise(one.stop)
    )
    const name = `${APPLICATION}_${randomBytes(3).toString("hex")}`
    const timed = yield* oneSessionEach(place.url, place.schema, name)
    const noted = yield* oneSessionEach(recorder.url, place.schema, `${name}_noted`)
    for (const ports of [timed, noted]) {
      yield* Effect.provide(Effect.replicateEffect(runAll(history, now), WARMING), ports)
    }
    const sessions: Sessions = { pids: yield* sessionsOf(client, name), timed, noted, recorder }
    return sessions
  })

const eventsOf = ({ caller, mandate }: History) =>
  Effect.gen(function* () {
    const store = yield* MandateStore
    const { stream } = yield* store.load({ organization: caller.organization.id, stream: { mandate } })
    return stream!.head.seq
  })

/** Processor time of the server for a run of each operation. */
const timesOf = ({ history, sessions }: Subject, now: Instant) =>
  Effect.gen(function* () {
    const times = new Map<string, number>()
    const add = (name: string, operation: Operation, share: number) =>
      Effect.gen(function* () {
        const before = serverTime(sessions.pids)
        yield* operation
        times.set(name, (times.get(name) ?? 0) + (serverTime(sessions.pids) - before) / share)
      })
    for (let run = 0; run < RUNS; run++) {
      for (const [name, operation] of operationsOf(history, now)) yield* add(name, operation, RUNS)
    }
    const events = yield* eventsOf(history)
    const runs = Math.max(1, Math.trunc(EVIDENCE_EVENTS / events))
    yield* add(EVIDENCE, Effect.replicateEffect(evidenceOf(history), runs, { discard: true }), events * runs)
    return times
  }).pipe(Effect.provide(sessions.timed))

/** Buffers for a run of each operation. The plan of a statement counts those of the functions that it calls. */
const buffersOf = ({ history, sessions: { noted, recorder } }: Subject, now: Instant) =>
  Effect.gen(function* () {
    const found = new Map<string, number>()
    const events = yield* eventsOf(history)
    for (const [name, operation] of [
      ...operationsOf(history, now),
      [EVIDENCE, evidenceOf(history)] as const
    ]) {
      recorder.clear()
      yield* operation
      const sent = new Set(recorder.sent().map(({ text }) => text))
      const buffers = executedPlans(recorder)
        .filter(({ text }) => sent.has(text))
        .reduce(
          (sum, { plan }) => sum + (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0),
          0
        )
      found.set(name, name === EVIDENCE ? buffers / events : buffers)
    }
    return found
  }).pipe(Effect.provide(noted))

const least = (measured: ReadonlyArray<ReadonlyMap<string, number>>, name: string): number =>
  Math.min(...measured.map((one) => one.get(name)!))

/** Measures subjects in turns, so that whatever else the machine does meets all of them. */
export const measure = <Name extends string>(
  subjects: Readonly<Record<Name, Subject>>,
  now: Instant
): Effect.Effect<Readonly<Record<Name, Costs>>, unknown> =>
  Effect.gen(function* () {
    const entries = Object.entries<Subject>(subjects)
    const times = new Map(entries.map(([name]) => [name, [] as ReadonlyMap<string, number>[]]))
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, subject] of entries) times.get(name)!.push(yield* timesOf(subject, now))
    }
    const costs: Array<readonly [string, Costs]> = []
    for (const [name, subject] of entries) {
      const buffers = yield* Effect.replicateEffect(buffersOf(subject, now), BUFFER_RUNS)
      const byOperation = [...buffers[0]!.keys()].map(
        (operation) =>
          [
            operation,
            { time: least(times.get(name)!, operation), buffers: least(buffers, operation) }
          ] as const
      )
      costs.push([name, new Map(byOperation)])
    }
    return Object.fromEntries(costs) as Record<Name, Costs>
  })
