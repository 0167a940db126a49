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
import { AUTHORIZATION_COLUMNS, type WrittenChange } from "./WrittenChange.ts"

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
  group: ReadonlyArray<WrittenChange>,
  partsOf: (change: StreamChange) => ReadonlyArray<A>
) =>
  group.flatMap(({ change }, at) => partsOf(change).map((part) => ({ part, number: String(at + 1), change })))

const streamColumns = (group: ReadonlyArray<WrittenChange>): ReadonlyArray<ReadonlyArray<string>> => [
  group.map(({ change }) => change.organization),
  group.map(({ change }) => change.mandate),
  group.map(({ change }) => (change.expected === "absent" ? "" : String(change.expected))),
  group.map(({ change }) => comparable(change.recordBefore)),
  group.map(({ change }) => String(change.headBefore?.seq ?? 0)),
  group.map(({ change }) => change.headBefore?.hash ?? ""),
  group.map(({ change }) => String(change.headBefore?.bytes ?? 0)),
  group.map(({ change }) => String(change.headBefore?.occurredAt ?? 0)),
  group.map(({ change }) => String(change.headAfter.seq)),
  group.map(({ change }) => change.headAfter.hash),
  group.map(({ change }) => String(change.headAfter.occurredAt)),
  group.map(({ change }) => String(change.headAfter.bytes)),
  group.map(({ change }) => change.mandateState.state),
  group.map(({ change }) => change.mandateState.terms.subject_reference),
  group.map(({ change }) => (change.nextDue === undefined ? "" : comparable(change.nextDue))),
  group.map(({ snapshot }) => snapshot)
]

const eventColumns = (group: ReadonlyArray<WrittenChange>): ReadonlyArray<ReadonlyArray<string>> => {
  const events = spread(group, (change) => change.events)
  return [
    events.map(({ number }) => number),
    events.map(({ part }) => part.id),
    events.map(({ part }) => part.type),
    events.map(({ part }) => part.text),
    events.map(({ part }) => part.notification),
    group.flatMap(({ deliveryStems }) => deliveryStems)
  ]
}

const rowColumns = (group: ReadonlyArray<WrittenChange>): ReadonlyArray<ReadonlyArray<string>> => [
  group.flatMap(({ authorizations: [ids] }, at) => ids!.map(() => String(at + 1))),
  ...Array.from({ length: AUTHORIZATION_COLUMNS }, (_, column) =>
    group.flatMap(({ authorizations }) => authorizations[column]!)
  )
]

const claimColumns = (group: ReadonlyArray<WrittenChange>): ReadonlyArray<ReadonlyArray<string>> => {
  const claims = spread(group, (change) => change.claims).sort(
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

const parametersOf = (group: ReadonlyArray<WrittenChange>): ReadonlyArray<Parameter> => [
  String(RECORD_SCHEMA),
  ...streamColumns(group),
  ...eventColumns(group),
  ...rowColumns(group),
  ...claimColumns(group)
]

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
