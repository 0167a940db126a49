import { OutOfTime, Stale, type StoreUnavailable, type StreamChange } from "@svc/domain/ports/MandateStore"
import { Effect, Exit } from "effect"
import {
  decidingClient,
  type Parameter,
  type PostgresClients,
  statement
} from "../connection/PostgresClients.ts"
import { guarded, StatementRefused } from "../connection/StoreFault.ts"
import { comparable, RECORD_SCHEMA } from "../RecordCodec.ts"
import type { GroupOutcome } from "./AppendLanes.ts"
import { byBytes } from "./PostgresAppend.ts"
import type { WrittenChange } from "./WrittenChange.ts"

interface OutcomesRow {
  readonly o_outcomes: ReadonlyArray<"appended" | "stale" | "out_of_time" | "alone">
}

const LISTS = 34

const APPEND = `select * from {schema}.append_changes($1::integer, ${Array.from(
  { length: LISTS },
  (_, at) => `$${at + 2}::text[]`
).join(", ")})`

const byStream = ({ change: left }: WrittenChange, { change: right }: WrittenChange): number =>
  byBytes(left.organization, right.organization) || byBytes(left.mandate, right.mandate)

/** Items of several changes, each with the number of its change, from 1. */
const spread = <A>(
  changes: ReadonlyArray<StreamChange>,
  partsOf: (change: StreamChange) => ReadonlyArray<A>
) =>
  changes.flatMap((change, at) => partsOf(change).map((part) => ({ part, number: String(at + 1), change })))

const streamColumns = (changes: ReadonlyArray<StreamChange>): ReadonlyArray<ReadonlyArray<string>> => [
  changes.map(({ organization }) => organization),
  changes.map(({ mandate }) => mandate),
  changes.map(({ expected }) => (expected === "absent" ? "" : String(expected))),
  changes.map(({ recordBefore }) => comparable(recordBefore)),
  changes.map(({ headBefore }) => String(headBefore?.seq ?? 0)),
  changes.map(({ headBefore }) => headBefore?.hash ?? ""),
  changes.map(({ headBefore }) => String(headBefore?.bytes ?? 0)),
  changes.map(({ headBefore }) => String(headBefore?.occurredAt ?? 0)),
  changes.map(({ headAfter }) => String(headAfter.seq)),
  changes.map(({ headAfter }) => headAfter.hash),
  changes.map(({ headAfter }) => String(headAfter.occurredAt)),
  changes.map(({ headAfter }) => String(headAfter.bytes)),
  changes.map(({ mandateState }) => mandateState.state),
  changes.map(({ mandateState }) => mandateState.terms.subject_reference),
  changes.map(({ nextDue }) => (nextDue === undefined ? "" : comparable(nextDue)))
]

const eventColumns = (changes: ReadonlyArray<StreamChange>): ReadonlyArray<ReadonlyArray<string>> => {
  const events = spread(changes, (change) => change.events)
  return [
    events.map(({ number }) => number),
    events.map(({ part }) => part.id),
    events.map(({ part }) => part.type),
    events.map(({ part }) => part.text),
    events.map(({ part }) => part.notification)
  ]
}

const rowColumns = (group: ReadonlyArray<WrittenChange>): ReadonlyArray<ReadonlyArray<string>> => [
  group.flatMap(({ authorizations: [ids] }, at) => ids!.map(() => String(at + 1))),
  ...group[0]!.authorizations.map((_, column) =>
    group.flatMap(({ authorizations }) => authorizations[column]!)
  )
]

const claimColumns = (changes: ReadonlyArray<StreamChange>): ReadonlyArray<ReadonlyArray<string>> => {
  const claims = spread(changes, (change) => change.claims).sort(
    (left, right) =>
      byBytes(left.change.organization, right.change.organization) ||
      byBytes(left.part.kind, right.part.kind) ||
      byBytes(left.part.name, right.part.name)
  )
  return [
    claims.map(({ number }) => number),
    claims.map(({ part }) => part.kind),
    claims.map(({ part }) => part.name),
    claims.map(({ part }) => part.fingerprint),
    claims.map(({ part }) => part.resource)
  ]
}

/** Of a group that is not empty. */
const parametersOf = (group: ReadonlyArray<WrittenChange>): ReadonlyArray<Parameter> => {
  const changes = group.map(({ change }) => change)
  return [
    String(RECORD_SCHEMA),
    ...streamColumns(changes),
    group.map(({ snapshot }) => snapshot),
    ...eventColumns(changes),
    group.flatMap(({ deliveryStems }) => deliveryStems),
    ...rowColumns(group),
    ...claimColumns(changes)
  ]
}

const outcomeOf = ({ change }: WrittenChange, outcome: string | undefined): GroupOutcome => {
  switch (outcome) {
    case "appended":
      return Exit.succeed({ revision: change.expected === "absent" ? 1 : change.expected + 1 })
    case "stale":
      return Exit.fail(new Stale())
    case "out_of_time":
      return Exit.fail(new OutOfTime())
    default:
      return "alone"
  }
}

/**
 * Records many changes in one statement, each entirely or not at all, and returns the outcome of each. No two of them may
 * share a stream or a claim, and none may contain a session, a subject or an expiring claim.
 */
export const makeAppendGroup = (
  clients: PostgresClients
): ((
  changes: ReadonlyArray<WrittenChange>
) => Effect.Effect<ReadonlyArray<GroupOutcome>, StoreUnavailable>) => {
  const append = statement<OutcomesRow>(decidingClient(clients), clients.schema, APPEND)
  return (changes) =>
    Effect.suspend(() => {
      const group = changes.filter(({ fault }) => fault === undefined).sort(byStream)
      if (group.length === 0) return Effect.succeed(changes.map((): GroupOutcome => "alone"))
      return guarded(append(parametersOf(group))).pipe(
        Effect.map(([row]) => {
          const outcomes = new Map(group.map((change, at) => [change, row?.o_outcomes[at]]))
          return changes.map((change) => outcomeOf(change, outcomes.get(change)))
        }),
        // One of them cannot be recorded at all. Each is retried alone, so that the others are not refused with it.
        Effect.catchDefect((defect) =>
          defect instanceof StatementRefused
            ? Effect.succeed(changes.map((): GroupOutcome => "alone"))
            : Effect.die(defect)
        )
      )
    })
}
