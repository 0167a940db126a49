/**
 * Holds every append, and what callers are shown, against a recount of the journals. It decides nothing as the domain does:
 * the recount works out for itself what is due, what fits a budget and what an event leads to.
 */
import { createHash } from "node:crypto"
import type { StreamChange } from "@svc/domain/ports/MandateStore"
import {
  type CountedMandate,
  canonical,
  type JournalRecount,
  nextDue,
  type Recorded,
  recountJournals
} from "@svc/testkit/JournalRecount"
import { COUNTERS, type Use } from "@svc/testkit/RecountBudget"
import { nanosOf } from "@svc/testkit/RecountCalendar"
import { Exit } from "effect"
import type { RarePaths } from "../RarePaths.ts"
import type { AppendExit, StoreServer, Takeover } from "../store/StoreServer.ts"
import { ClaimLedger } from "./ClaimLedger.ts"
import { isDecision, isDecisionRight } from "./DecisionAudit.ts"
import type { Findings } from "./Findings.ts"
import { SessionLedger } from "./SessionLedger.ts"

const NANOS_PER_MICRO = 1000n
/** What precedes an opening where it is hashed (part 5). */
const COMMITMENT = "svc:authorization:commitment:v1\n"
/** Longest time from a decision to its record, in nanoseconds. */
const DECISION_LIFETIME = 5_000_000_000n

/** A mandate as it was recorded so far. */
interface Entry {
  readonly organization: string
  readonly recount: JournalRecount
  revision: number
  /** By version. */
  readonly states: Map<number, string>
  /** When the next transition is due, in microseconds. */
  dueAt: number
  /** The highest version that a caller was shown. */
  shownVersion: number
  /** The states of authorizations that callers were shown last. */
  readonly shown: Map<string, string>
}

/** How a mandate stood when a request for it began. */
export interface Since {
  readonly mandate: string
  readonly seq: number
  readonly version: number
  readonly clock: bigint
  readonly losses: number
}

const shownUse = (counted: Use, stored: Readonly<Record<string, bigint | number>> | undefined): boolean =>
  COUNTERS.every(
    (counter) =>
      counted[counter].amount === (stored?.[`${counter}Amount`] ?? 0n) &&
      counted[counter].executions === (stored?.[`${counter}Executions`] ?? 0)
  )

export class MandateAudit {
  readonly #entries = new Map<string, Entry>()
  /** Absent when it is to be worked out again. */
  #dueAt: number | undefined
  readonly #commitments = new Map<string, string>()
  readonly claims: ClaimLedger
  readonly sessions: SessionLedger
  /** How often the tail of the history was lost. */
  losses = 0
  #replicated = new Map<string, number>()
  readonly #findings: Findings
  readonly #rare: RarePaths
  readonly #server: () => StoreServer

  constructor(findings: Findings, rare: RarePaths, server: () => StoreServer) {
    this.#findings = findings
    this.#rare = rare
    this.#server = server
    this.claims = new ClaimLedger(findings)
    this.sessions = new SessionLedger(findings, rare)
  }

  counted(mandate: string): CountedMandate | undefined {
    return this.#entries.get(mandate)?.recount.mandates.get(mandate)
  }

  stateAt(mandate: string, version: number): string {
    return this.#entries.get(mandate)?.states.get(version) ?? ""
  }

  get organizations(): ReadonlyMap<string, string> {
    return new Map([...this.#entries].map(([mandate, { organization }]) => [mandate, organization]))
  }

  /** The earliest instant at which something is due, in microseconds. */
  get dueAt(): number {
    if (this.#dueAt !== undefined) return this.#dueAt
    this.#dueAt = Number.POSITIVE_INFINITY
    for (const { dueAt } of this.#entries.values()) if (dueAt < this.#dueAt) this.#dueAt = dueAt
    return this.#dueAt
  }

  /** When something of a mandate is due, in microseconds. */
  dueAtOf(mandate: string): number {
    return this.#entries.get(mandate)?.dueAt ?? Number.POSITIVE_INFINITY
  }

  appended(change: StreamChange, exit: AppendExit): void {
    if (Exit.isSuccess(exit)) this.#recorded(change, exit.value.revision)
    else this.#refused(change, exit)
  }

  #refused(change: StreamChange, exit: Exit.Failure<unknown, { readonly _tag: string }>): void {
    const entry = this.#entries.get(change.mandate)
    const clock = this.#server().clock
    const [reason] = exit.cause.reasons
    if (reason?._tag === "Fail") this.#countRefusal(reason.error._tag, change, entry, clock)
    else {
      this.#findings.check(
        "changes that can be recorded",
        this.losses > 0,
        `${change.mandate}: ${exit.cause}`
      )
      this.#rare.count("history replaced under a change")
    }
    const stored = this.#load(change)
    this.#findings.check(
      "refused changes leave no trace",
      stored?.revision === entry?.revision,
      `${change.mandate} has revision ${stored?.revision}, not ${entry?.revision}`
    )
  }

  #countRefusal(tag: string, change: StreamChange, entry: Entry | undefined, clock: bigint): void {
    if (tag === "Stale") {
      this.#rare.count("stale")
      if (
        change.claims.length > 1 &&
        change.claims.filter(({ kind }) => kind === "idempotency_key").length > 1
      )
        this.#rare.count("stale batch")
    }
    if (tag === "OutOfTime") {
      this.#rare.count("out of time")
      const isDue =
        entry !== undefined && BigInt(Math.min(entry.dueAt, 2 ** 53 - 1)) * NANOS_PER_MICRO <= clock
      if (isDue) this.#rare.count("expiry between load and append")
    }
    if (tag === "ClaimTaken") this.#rare.count("claim taken")
  }

  #load({
    authorizations,
    mandate,
    organization
  }: Pick<StreamChange, "mandate" | "organization" | "authorizations">) {
    const exit = this.#server().run(({ mandates }) =>
      mandates.load({
        organization,
        stream: { mandate },
        authorizations: authorizations.map(({ id }) => id)
      })
    )
    return Exit.isSuccess(exit) ? exit.value.stream : undefined
  }

  #entryOf({ mandate, organization }: Pick<StreamChange, "mandate" | "organization">): Entry {
    const known = this.#entries.get(mandate)
    if (known !== undefined) return known
    const entry: Entry = {
      organization,
      recount: recountJournals(this.#findings),
      revision: 0,
      states: new Map(),
      dueAt: Number.POSITIVE_INFINITY,
      shownVersion: 0,
      shown: new Map()
    }
    this.#entries.set(mandate, entry)
    return entry
  }

  #recorded(change: StreamChange, revision: number): void {
    const { check } = this.#findings
    const { mandate } = change
    this.#dueAt = undefined
    const entry = this.#entryOf(change)
    const clock = this.#server().clock
    check(
      "each append on the revision that it was decided on",
      revision === entry.revision + 1 &&
        (change.expected === "absent" ? 0 : change.expected) === entry.revision,
      `${mandate}: ${change.expected} led to ${revision} after ${entry.revision}`
    )
    entry.revision = revision
    if (change.events.length > 1) this.#rare.count("commands in one append")
    for (const { text } of change.events) this.#count(entry, mandate, text)
    const counted = this.counted(mandate)
    if (counted === undefined) return
    this.#checkTime(change, counted, clock)
    this.claims.recorded(change, clock)
    this.sessions.recorded(change, counted, clock)
    this.#checkStored(change, entry, counted, clock)
    this.#checkSubject(change)
  }

  #checkSubject({ mandate, organization, subject }: StreamChange): void {
    if (subject === undefined) return
    const subjectReference = subject.reference
    const exit = this.#server().run(({ subjects }) => subjects.load({ organization, subjectReference }))
    const stored = Exit.isSuccess(exit) ? exit.value.subject?.passkeys : undefined
    const isSame = canonical(stored ?? null) === canonical(subject.next.passkeys)
    this.#findings.check("passkeys as recorded", isSame, `${mandate}: ${subjectReference}`)
  }

  /** Counts one event, after the decision that it may record was worked out again. */
  #count(entry: Entry, mandate: string, text: string): void {
    const { check } = this.#findings
    const event: Recorded = JSON.parse(text)
    const before = entry.recount.mandates.get(mandate)
    if (before !== undefined && isDecision(event)) {
      check(
        "decisions by the policy",
        isDecisionRight(before, event),
        `${mandate}: ${event.authorization_id}`
      )
      const key = `${entry.organization} ${event.data.commitment}`
      const holder = this.#commitments.get(key)
      check(
        "one authorization per commitment",
        holder === undefined,
        `${mandate}: ${event.authorization_id} and ${holder}`
      )
      this.#commitments.set(key, event.authorization_id)
    }
    if (event.type === "authorization.outcome_conflict" && event.data.late) this.#rare.count("late report")
    if (event.type === "authorization.committed") this.#checkOpening(before, mandate, event, event.data)
    if (event.type === "authorization.outcome_conflict" && event.data.reported === "COMMITTED")
      this.#checkOpening(before, mandate, event, event.data.content)
    entry.recount.append(mandate, text)
    const counted = entry.recount.mandates.get(mandate)
    if (counted === undefined) return
    entry.states.set(counted.version, counted.state)
    const due = nextDue(counted)
    entry.dueAt = due === undefined ? Number.POSITIVE_INFINITY : Number(due.at / NANOS_PER_MICRO)
  }

  /** A commit opens the commitment that its authorization was proposed with, also one that comes too late. */
  #checkOpening(
    before: CountedMandate | undefined,
    mandate: string,
    event: Recorded,
    report: Recorded
  ): void {
    const opening = Buffer.from(report.commitment_opening, "base64url")
    const commitment = createHash("sha256").update(COMMITMENT).update(opening).digest("base64url")
    const isOpened = before?.authorizations.get(event.authorization_id)?.commitment === commitment
    this.#findings.check("commits open their commitments", isOpened, `${mandate}: ${event.authorization_id}`)
  }

  /** What was decided may no longer differ when it is recorded: nothing came due, and no period ended. */
  #checkTime(change: StreamChange, counted: CountedMandate, clock: bigint): void {
    const { check } = this.#findings
    const due = nextDue(counted)
    check(
      "nothing is due when it is recorded",
      due === undefined || due.at > clock,
      `${change.mandate}: ${due?.type} ${due?.authorization ?? ""}`
    )
    check(
      "decisions are recorded soon",
      clock - change.decidedAt < DECISION_LIFETIME,
      `${change.mandate}: after ${clock - change.decidedAt} ns`
    )
    for (const event of counted.events.slice(counted.events.length - change.events.length)) {
      if (!isDecision(event)) continue
      const at = nanosOf(event.occurred_at)
      const ended = counted.budget.periodsAt(at).find(({ endsAt }) => endsAt > at && endsAt <= clock)
      check("decisions are recorded in their periods", ended === undefined, `${change.mandate}: ${event.id}`)
      const early = counted.budget.periodsAt(clock).find(({ endsAt }) => endsAt > clock && endsAt <= at)
      check("periods end by the store's clock", early === undefined, `${change.mandate}: ${event.id}`)
    }
  }

  /** The store holds what the journal adds up to. */
  #checkStored(change: StreamChange, entry: Entry, counted: CountedMandate, clock: bigint): void {
    const { check } = this.#findings
    const stream = this.#load(change)
    const { mandate } = change
    check("streams are where their appends led", stream?.revision === entry.revision, mandate)
    if (stream === undefined) return
    const { head, state } = stream
    const last = counted.events.at(-1)
    check("heads", head.seq === last.seq && head.hash === last.hash, mandate)
    check(
      "snapshots",
      state.mandate.state === counted.state &&
        state.mandate.version === counted.version &&
        state.mandate.authorizationCount === counted.authorizations.size,
      `${mandate} is ${state.mandate.state} v${state.mandate.version}, counted ${counted.state} v${counted.version}`
    )
    const open = state.open.map(({ id }) => id).join()
    check("open reservations", open === [...counted.open.keys()].join(), `${mandate}: ${open}`)
    check("totals", shownUse(counted.budget.totals, { ...state.mandate.totals }), mandate)
    for (const { index, startsAt } of counted.budget.periodsAt(clock)) {
      const use = counted.budget.periods.get(`${index}:${startsAt}`)?.use
      const stored = state.mandate.periods.find(
        (period) => period.period === index && period.startsAt === startsAt
      )
      if (use !== undefined)
        check("use of periods", shownUse(use, { ...stored?.counters }), `${mandate} ${index}`)
    }
    for (const { id } of change.authorizations) {
      const [stored, own] = [state.authorizations.get(id)?.state, counted.authorizations.get(id)?.state]
      check("authorizations as recorded", stored === own, `${mandate}: ${id} is ${stored}, counted ${own}`)
    }
  }

  /** Begins to watch what a request about a mandate leads to. */
  since(mandate: string): Since {
    const entry = this.#entries.get(mandate)
    return {
      mandate,
      seq: this.counted(mandate)?.events.length ?? 0,
      version: entry?.shownVersion ?? 0,
      clock: this.#server().clock,
      losses: this.losses
    }
  }

  mandateShown(since: Since, resource: Recorded): void {
    if (since.losses !== this.losses) return
    const { check } = this.#findings
    const entry = this.#entries.get(resource.id)
    const counted = this.counted(resource.id)
    check("mandates that are shown are recorded", counted !== undefined, resource.id)
    if (entry === undefined || counted === undefined) return
    const about = `${resource.id} shown as ${resource.state} v${resource.version}`
    check("versions never turn back", resource.version >= since.version, `${about} after v${since.version}`)
    check("states as recorded", entry.states.get(resource.version) === resource.state, about)
    entry.shownVersion = Math.max(entry.shownVersion, resource.version)
    if (since.seq !== counted.events.length) return
    const usage = canonical(resource.usage)
    const isCounted = [since.clock, this.#server().clock].some(
      (at) => canonical(counted.budget.usageAt(at)) === usage
    )
    check("usage as counted", isCounted, `${resource.id}: ${usage}`)
  }

  authorizationShown(since: Since, resource: Recorded): void {
    if (since.losses !== this.losses) return
    const { check } = this.#findings
    const { id, mandate_id: mandate, state } = resource
    const counted = this.counted(mandate)
    const own = counted?.authorizations.get(id)
    check("authorizations that are shown are recorded", own !== undefined, `${mandate}: ${id}`)
    if (counted === undefined || own === undefined) return
    const isSettled = since.seq === counted.events.length
    const about = `${mandate}: ${id} shown as ${state}, counted ${own.state}`
    check("outcomes as recorded", own.state === state || (!isSettled && state === "RESERVED"), about)
    const entry = this.#entries.get(mandate)!
    const before = since.seq > 0 ? entry.shown.get(id) : undefined
    entry.shown.set(id, before !== undefined && before !== "RESERVED" ? before : state)
    const mayExecute = state === "RESERVED" && since.clock < own.executeBefore
    check("can_execute while it may be", !resource.can_execute || mayExecute, about)
    const clock = this.#server().clock
    const mustExecute =
      isSettled && state === "RESERVED" && counted.state === "ACTIVE" && clock < own.executeBefore
    check("can_execute when it can be", resource.can_execute || !mustExecute, about)
    check(
      "can_execute on active mandates only",
      !(isSettled && resource.can_execute) || counted.state === "ACTIVE",
      about
    )
  }

  replicated(): void {
    this.#replicated = new Map(
      [...this.#entries.keys()].map((mandate) => [mandate, this.counted(mandate)?.texts.length ?? 0])
    )
    this.claims.replicated()
    this.sessions.replicated()
  }

  failedOver(takeover: Takeover): void {
    const { isTailLost } = takeover
    this.#dueAt = undefined
    this.sessions.failedOver(takeover)
    if (isTailLost) {
      this.losses += 1
      this.claims.tailLost()
    }
    let isAcknowledgedLost = false
    for (const [mandate, entry] of [...this.#entries]) {
      const texts = this.#journalOf(entry.organization, mandate)
      const known = this.counted(mandate)?.texts ?? []
      const least = isTailLost ? (this.#replicated.get(mandate) ?? 0) : known.length
      this.#findings.check(
        "a failover keeps what was replicated",
        texts.length >= least && texts.every((text, at) => text === known[at]),
        `${mandate}: ${texts.length} of ${known.length} events`
      )
      if (isTailLost) isAcknowledgedLost = this.#recountAgain(mandate, entry, texts) || isAcknowledgedLost
    }
    if (isAcknowledgedLost) this.#rare.count("acknowledged write lost with the tail")
  }

  #journalOf(organization: string, mandate: string): ReadonlyArray<string> {
    const exit = this.#server().run(({ mandates }) =>
      mandates.journal({ organization, mandate, afterSeq: 0, uptoSeq: 1_000_000, limit: 1_000_000 })
    )
    return Exit.isSuccess(exit) ? exit.value : []
  }

  /** Starts over with what is left of a journal. Returns whether a caller had been shown more. */
  #recountAgain(mandate: string, before: Entry, texts: ReadonlyArray<string>): boolean {
    for (const event of before.recount.mandates.get(mandate)?.events.slice(texts.length) ?? []) {
      if (isDecision(event)) this.#commitments.delete(`${before.organization} ${event.data.commitment}`)
    }
    this.#entries.delete(mandate)
    const stream = this.#load({ organization: before.organization, mandate, authorizations: [] })
    if (texts.length === 0) return before.shownVersion > 0
    const entry = this.#entryOf({ organization: before.organization, mandate })
    for (const event of texts.map((text): Recorded => JSON.parse(text))) {
      if (isDecision(event)) this.#commitments.delete(`${before.organization} ${event.data.commitment}`)
    }
    for (const text of texts) this.#count(entry, mandate, text)
    entry.revision = stream?.revision ?? 0
    const counted = this.counted(mandate)!
    entry.shownVersion = Math.min(before.shownVersion, counted.version)
    const isLost = [...before.shown].some(([id, state]) => counted.authorizations.get(id)?.state !== state)
    return isLost || before.shownVersion > counted.version
  }

  /** Everything due is recorded. */
  checkSettled(): void {
    const clock = this.#server().clock
    for (const mandate of this.#entries.keys()) {
      const counted = this.counted(mandate)
      const due = counted && nextDue(counted)
      this.#findings.check(
        "everything due is recorded in the end",
        due === undefined || due.at > clock,
        `${mandate}: ${due?.type} ${due?.authorization ?? ""}`
      )
    }
  }
}
