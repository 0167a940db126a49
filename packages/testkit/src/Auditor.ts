/** Holds what callers were shown against a recount of the journals. It shares no code with the domain, on purpose. */
import type { AuditLog } from "./AuditLog.ts"
import {
  type CountedMandate,
  canonical,
  differencesOf,
  nextDue,
  type Recorded,
  recountJournals
} from "./JournalRecount.ts"
import { nanosOf } from "./RecountCalendar.ts"

/** States that a mandate never leaves. */
const FINAL = new Set(["CONSUMED", "REVOKED", "REJECTED", "EXPIRED"])
const ENDINGS = new Set([...FINAL].map((state) => `mandate.${state.toLowerCase()}`))

/** An auditor of one organization. Instants are RFC 3339 texts. */
export interface Auditor {
  /** The whole journal of a mandate, everything due at `now` recorded. */
  readonly journal: (mandate: string, texts: ReadonlyArray<string>, now: string) => void
  /** A mandate as it was shown at `now`, after its journal was given. */
  readonly mandateShown: (resource: unknown, now: string) => void
  /** An authorization as it was shown at `now`, after its mandate's journal was given. */
  readonly authorizationShown: (resource: unknown, now: string) => void
  /** A write that succeeded under a key: its operation, its input as text, and the resource it answered with. */
  readonly written: (operation: string, key: string, input: string, resource: string) => void
  /** The decoded payload text of evidence, after the mandate's journal was given. */
  readonly evidenceServed: (mandate: string, payloadText: string) => void
}

/** The mandate as the interface shows it, without its usage. */
const shownMandate = ({ events, state, terms, version }: CountedMandate): Recorded => {
  const { organization_id: _, environment: __, mandate_id: id, time_zones: ___, ...shown } = terms
  const first = (type: string): Recorded => events.find((event) => event.type === type)
  const revocation = first("mandate.revoked")
  return {
    id,
    ...shown,
    state,
    version,
    created_at: events[0].occurred_at,
    updated_at: events.at(-1).occurred_at,
    approved_at: first("mandate.approved")?.occurred_at,
    ended_at: events.find(({ type }) => ENDINGS.has(type))?.occurred_at,
    end_reason: first("mandate.expired")?.data.end_reason,
    revocation: revocation && { reason: revocation.data.reason }
  }
}

/** What evidence must hold beside the instant of its making. */
const evidenceOf = (mandate: CountedMandate): Recorded => {
  const { organization_id, environment } = mandate.terms
  const { hash, seq } = mandate.events.at(-1)
  return {
    schema: "svc.evidence.v1",
    organization_id,
    environment,
    mandate: shownMandate(mandate),
    events: mandate.events,
    head: { seq, hash }
  }
}

/**
 * Reports what must hold however a run went: everything that a recount of the journals checks, that what is shown is
 * what they say, that nothing shown turns back, each key one input and one resource, and everything due recorded.
 */
export const makeAuditor = ({ check }: AuditLog): Auditor => {
  const { append, mandates } = recountJournals({ check })
  const lastShown = new Map<string, Recorded>()
  const keys = new Map<string, { readonly input: string; readonly resource: string }>()

  const counted = (mandate: string): CountedMandate | undefined => {
    check("journals of what is shown", mandates.has(mandate), mandate)
    return mandates.get(mandate)
  }
  const agree = (name: string, given: Recorded, expected: Recorded): void => {
    const isSame = canonical(given) === canonical(expected)
    check(name, isSame, isSame ? "" : differencesOf(given, expected))
  }

  return {
    journal: (id, texts, now) => {
      const known = mandates.get(id)?.texts ?? []
      known.forEach((text, at) => {
        check("events as they were", texts[at] === text, `${id} ${at + 1}`)
      })
      for (const text of texts.slice(known.length)) append(id, text)
      const mandate = counted(id)
      const due = mandate && nextDue(mandate)
      const isDone = due === undefined || due.at > nanosOf(now)
      check("everything due is recorded", isDone, `${id}: ${due?.type} ${due?.authorization ?? ""}`)
    },
    mandateShown: (resource, now) => {
      const { usage, ...shown } = resource as Recorded
      const mandate = counted(shown.id)
      if (mandate === undefined) return
      agree("mandates as recorded", shown, shownMandate(mandate))
      agree("usage as counted", usage, mandate.budget.usageAt(nanosOf(now)))
      const last = lastShown.get(shown.id) ?? shown
      check("versions never turn back", shown.version >= last.version, shown.id)
      check("time never turns back", shown.updated_at >= last.updated_at, shown.id)
      check("final states stay", !FINAL.has(last.state) || shown.state === last.state, shown.id)
      lastShown.set(shown.id, shown)
    },
    authorizationShown: (resource, now) => {
      const shown = resource as Recorded
      const mandate = counted(shown.mandate_id)
      const authorization = mandate?.authorizations.get(shown.id)
      check("events of what is shown", authorization !== undefined, shown.id)
      if (mandate === undefined || authorization === undefined) return
      const { executeBefore, order, state } = authorization
      check(
        "authorizations as recorded",
        shown.state === state,
        `authorization ${order} is shown as ${shown.state}, its journal says ${state}`
      )
      const isOpen = state === "RESERVED" && mandate.state === "ACTIVE" && nanosOf(now) < executeBefore
      const gate = shown.decision === "ALLOW" && shown.state === "RESERVED" && isOpen
      check(
        "can_execute while it may be",
        shown.can_execute === gate,
        `authorization ${order}, which is ${state}, is shown with can_execute ${shown.can_execute}, not ${gate}`
      )
      const before = lastShown.get(shown.id)?.state ?? "RESERVED"
      check(
        "outcomes stay",
        before === "RESERVED" || shown.state === before,
        `authorization ${order} is shown as ${shown.state} and was ${before}`
      )
      lastShown.set(shown.id, shown)
    },
    written: (operation, key, body, resource) => {
      const input = `${operation} ${body}`
      const held = keys.get(key) ?? { input, resource }
      keys.set(key, held)
      check("one input per key", held.input === input, `${key}: ${input}`)
      check("one resource per key", held.resource === resource, `${key}: ${held.resource} and ${resource}`)
    },
    evidenceServed: (id, payloadText) => {
      const mandate = counted(id)
      if (mandate === undefined) return
      const { generated_at: _, ...served } = JSON.parse(payloadText)
      agree("evidence as recorded", served, evidenceOf(mandate))
      check("event texts in evidence", payloadText.includes(`[${mandate.texts.join(",")}]`), id)
    }
  }
}
