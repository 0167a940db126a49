import type { StreamChange } from "@svc/domain/ports/MandateStore"
import type { CountedMandate, Recorded } from "@svc/testkit/JournalRecount"
import type { RarePaths } from "../RarePaths.ts"
import type { Takeover } from "../store/StoreServer.ts"
import type { Findings } from "./Findings.ts"

interface Session {
  readonly mandate: string
  readonly state: string
  readonly expiresAt: bigint
  readonly order: number
}

interface Subject {
  readonly revision: number
  readonly retired: ReadonlySet<string>
}

/** Approval sessions and passkeys, as appends recorded them. */
export class SessionLedger {
  #sessions = new Map<string, Session>()
  #subjects = new Map<string, Subject>()
  #replica: readonly [Map<string, Session>, Map<string, Subject>] = [new Map(), new Map()]
  #revisionsFrom = 1
  /** Approvals under way, by session. */
  readonly approving = new Set<string>()
  readonly #findings: Findings
  readonly #rare: RarePaths

  constructor(findings: Findings, rare: RarePaths) {
    this.#findings = findings
    this.#rare = rare
  }

  recorded(change: StreamChange, counted: CountedMandate, clock: bigint): void {
    const { check } = this.#findings
    const answer = counted.events
      .slice(counted.events.length - change.events.length)
      .find(({ type }) => type === "mandate.approved" || type === "mandate.rejected")
    if (answer !== undefined) this.#checkAnswer(change, answer, clock)
    for (const session of change.sessions) {
      const before = this.#sessions.get(session.id)
      const isEnded = before !== undefined && before.state !== "OPEN"
      check("sessions that ended stay so", !isEnded || before.state === session.state, session.id)
      if (before?.state === "OPEN" && session.state === "SUPERSEDED" && this.approving.has(session.id)) {
        this.#rare.count("superseded session races an approval")
      }
      const order = before?.order ?? this.#sessions.size
      const { expiresAt, mandateId: mandate, state } = session
      this.#sessions.set(session.id, { mandate, state, expiresAt, order })
    }
    this.#checkSubject(change)
    const open = [...this.#sessions.values()].filter(
      ({ expiresAt, mandate, state }) => mandate === change.mandate && state === "OPEN" && expiresAt > clock
    )
    check("one open session for each mandate", open.length <= 1, `${change.mandate} has ${open.length}`)
  }

  #checkAnswer(change: StreamChange, event: Recorded, clock: bigint): void {
    const { check } = this.#findings
    const isApproval = event.type === "mandate.approved"
    const id = isApproval ? event.data.approval.statement.approval_session_id : event.data.approval_session_id
    const session = this.#sessions.get(id)
    check(
      "answers in open sessions only",
      session?.mandate === change.mandate && session.state === "OPEN" && session.expiresAt > clock,
      `${change.mandate}: ${id} is ${session?.state}`
    )
    if (!isApproval) return
    const passkey = event.data.approval.credential.passkey_id
    const subject = this.#subjects.get(
      `${change.organization} ${change.mandateState.terms.subject_reference}`
    )
    check(
      "approvals with passkeys that are not retired",
      !subject?.retired.has(passkey),
      `${change.mandate}: ${passkey}`
    )
  }

  #checkSubject({ mandate, organization, subject }: StreamChange): void {
    if (subject === undefined) return
    const name = `${organization} ${subject.reference}`
    const before = this.#subjects.get(name)
    const isExpected = (before?.revision ?? "absent") === subject.expected
    this.#findings.check("passkeys change on the revision that was read", isExpected, `${mandate}: ${name}`)
    this.#put(name, before, subject.next.passkeys)
  }

  #put(
    name: string,
    before: Subject | undefined,
    passkeys: ReadonlyArray<{ readonly id: string; readonly retiredAt?: string }>
  ): void {
    const retired = new Set(passkeys.filter(({ retiredAt }) => retiredAt !== undefined).map(({ id }) => id))
    const isKept = [...(before?.retired ?? [])].every((id) => retired.has(id))
    this.#findings.check("retired passkeys stay so", isKept, name)
    const revision = Math.max((before?.revision ?? 0) + 1, this.#revisionsFrom)
    this.#subjects.set(name, { revision, retired })
  }

  replaced(
    name: string,
    expected: number,
    passkeys: ReadonlyArray<{ readonly id: string; readonly retiredAt?: string }>
  ): void {
    const before = this.#subjects.get(name)
    this.#findings.check("passkeys change on the revision that was read", before?.revision === expected, name)
    if (this.approving.size > 0) this.#rare.count("passkey retired during an approval")
    this.#put(name, before, passkeys)
  }

  replicated(): void {
    this.#replica = [new Map(this.#sessions), new Map(this.#subjects)]
  }

  failedOver({ isTailLost, revisionsFrom }: Takeover): void {
    this.#revisionsFrom = revisionsFrom
    if (!isTailLost) return
    const [sessions, subjects] = this.#replica
    this.#sessions = new Map(sessions)
    this.#subjects = new Map(subjects)
  }
}
