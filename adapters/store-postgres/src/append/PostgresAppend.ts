import {
  type Appended,
  type ClaimKind,
  ClaimTaken,
  OutOfTime,
  Stale,
  StoreUnavailable,
  type StreamChange
} from "@svc/domain/ports/MandateStore"
import { Effect } from "effect"
import {
  decidingClient,
  type Parameter,
  type PostgresClients,
  statement
} from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { CLOCK } from "../ports/PostgresReads.ts"
import { comparable, RECORD_SCHEMA, writeSession, writeSubject } from "../RecordCodec.ts"
import type { AppendRefusal } from "./AppendLanes.ts"
import { type WrittenChange, writeChange } from "./WrittenChange.ts"

type Outcome = "appended" | "stale" | "out_of_time" | "claim_taken" | "newer" | "broken"

interface OutcomeRow {
  readonly o_outcome: Outcome
  readonly o_revision: bigint
  readonly o_detail: string | null
  readonly o_fingerprint: string | null
  readonly o_resource: string | null
}

/** The type of each parameter of the function, in order. */
const TYPES = [
  ..."text text bigint bigint text".split(" "),
  ..."bigint text bigint bigint".split(" "),
  ..."bigint text bigint bigint".split(" "),
  ..."integer text text bigint text".split(" "),
  ..."text[] text[] text[] text[] text[]".split(" "),
  ..."text[] bigint[] text[] text[] text[] text[]".split(" "),
  ..."text[] text[] text[]".split(" "),
  ..."text text".split(" "),
  ..."text[] text[] text[] text[] text[] text[]".split(" ")
]

const cast = (type: string, at: number): string =>
  type === "bigint[]" ? `$${at + 1}::text[]::bigint[]` : `$${at + 1}::${type}`

const APPEND = `select * from {schema}.append_one(${TYPES.map(cast).join(", ")})`

/**
 * Text is compared by its bytes in UTF-8, as the database does. That is the order of the code points at which two texts first
 * differ, so neither has to be written as bytes.
 */
export const byBytes = (left: string, right: string): number => {
  if (left === right) return 0
  let at = 0
  while (at < left.length && left.charCodeAt(at) === right.charCodeAt(at)) at++
  return (left.codePointAt(at) ?? -1) - (right.codePointAt(at) ?? -1)
}

const headParameters = ({ change, fault }: WrittenChange): ReadonlyArray<Parameter> => {
  const { headAfter, headBefore } = change
  return [
    fault ?? null,
    String(headBefore?.seq ?? 0),
    headBefore?.hash ?? null,
    String(headBefore?.bytes ?? 0),
    String(headBefore?.occurredAt ?? 0),
    String(headAfter.seq),
    headAfter.hash,
    String(headAfter.occurredAt),
    String(headAfter.bytes)
  ]
}

/** Claims in the order in which every append locks them: by kind and name, as bytes. */
export const inLockOrder = (claims: StreamChange["claims"]): StreamChange["claims"] =>
  claims.toSorted((left, right) => byBytes(left.kind, right.kind) || byBytes(left.name, right.name))

const parametersOf = (written: WrittenChange): ReadonlyArray<Parameter> => {
  const { change } = written
  const { events, mandateState, sessions, subject } = change
  const claims = inLockOrder(change.claims)
  return [
    change.organization,
    change.mandate,
    change.expected === "absent" ? null : String(change.expected),
    comparable(change.recordBefore),
    ...headParameters(written),
    String(RECORD_SCHEMA),
    mandateState.state,
    mandateState.terms.subject_reference,
    change.nextDue === undefined ? null : comparable(change.nextDue),
    written.snapshot,
    events.map(({ id }) => id),
    events.map(({ type }) => type),
    events.map(({ text }) => text),
    events.map(({ notification }) => notification),
    written.deliveryStems,
    ...written.authorizations,
    sessions.map(({ id }) => id),
    sessions.map(({ tokenHash }) => tokenHash),
    sessions.map(writeSession),
    subject === undefined ? null : String(subject.expected),
    subject === undefined ? null : writeSubject(subject.next),
    claims.map(({ kind }) => kind),
    claims.map(({ name }) => name),
    claims.map(({ fingerprint }) => fingerprint),
    claims.map(({ resource }) => resource),
    claims.map(({ expiresAt }) => (expiresAt === undefined ? "" : comparable(expiresAt))),
    claims.map((claim) => String(change.claims.indexOf(claim)))
  ]
}

/** Claims of one kind that are held. */
const HELD = `select c.name, c.fingerprint, c.resource from {schema}.claim c
where c.organization = $1::text and c.kind = $2::text and c.name = any ($3::text[])
  and (c.expires_at is null or c.expires_at > ${CLOCK})`

interface HeldRow {
  readonly name: string
  readonly fingerprint: string
  readonly resource: string
}

/**
 * Names the claim that was taken. The outcome has its kind and its holder, which is enough unless the change makes several
 * claims of that kind; then the first of those that are held is looked up.
 */
const makeClaimTaken = ({ reads, schema }: PostgresClients) => {
  const held = statement<HeldRow>(reads, schema, HELD)
  return (
    { claims, organization }: StreamChange,
    row: OutcomeRow
  ): Effect.Effect<never, ClaimTaken | Stale | StoreUnavailable> => {
    const kind = row.o_detail as ClaimKind
    const names = claims.filter((claim) => claim.kind === kind).map(({ name }) => name)
    if (names.length === 1) {
      const holder = { fingerprint: row.o_fingerprint ?? "", resource: row.o_resource ?? "" }
      return Effect.fail(new ClaimTaken({ kind, name: names[0]!, holder }))
    }
    return Effect.flatMap(
      guarded(held([organization, kind, names])),
      (rows): Effect.Effect<never, ClaimTaken | Stale> => {
        const byName = new Map(rows.map((one) => [one.name, one]))
        const name = names.find((one) => byName.has(one))
        if (name === undefined) return Effect.fail(new Stale())
        const { fingerprint, resource } = byName.get(name)!
        return Effect.fail(new ClaimTaken({ kind, name, holder: { fingerprint, resource } }))
      }
    )
  }
}

const answerOf = (
  row: OutcomeRow,
  claimTaken: Effect.Effect<never, AppendRefusal>
): Effect.Effect<Appended, AppendRefusal> => {
  switch (row.o_outcome) {
    case "appended":
      return Effect.succeed({ revision: Number(row.o_revision) })
    case "stale":
      return Effect.fail(new Stale())
    case "out_of_time":
      return Effect.fail(new OutOfTime())
    case "claim_taken":
      return claimTaken
    case "newer":
      return Effect.fail(new StoreUnavailable({ cause: "the stream was written by a later release" }))
    case "broken":
      return Effect.die(new Error(`the change cannot be recorded: ${row.o_detail}`))
  }
}

/** Records one change in one statement, so that a lost connection leaves all of it or nothing. */
export const makeAppendAlone = (
  clients: PostgresClients
): ((written: WrittenChange) => Effect.Effect<Appended, AppendRefusal>) => {
  const append = statement<OutcomeRow>(decidingClient(clients), clients.schema, APPEND)
  const claimTaken = makeClaimTaken(clients)
  return (written) =>
    Effect.suspend(() => guarded(append(parametersOf(written)))).pipe(
      Effect.flatMap(([row]) => answerOf(row!, claimTaken(written.change, row!)))
    )
}

/** The same, for a store that records each change alone. */
export const makeAppend = (
  clients: PostgresClients
): ((change: StreamChange) => Effect.Effect<Appended, AppendRefusal>) => {
  const alone = makeAppendAlone(clients)
  return (change) => Effect.suspend(() => alone(writeChange(change)))
}
