import type { StreamChange } from "@svc/domain/ports/MandateStore"
import type { ReservationStep, ServiceMetrics } from "./ServiceMetrics.ts"

/** The event types that open or close a reservation. */
const STEPS: Readonly<Record<string, ReservationStep>> = {
  "authorization.reserved": "opened",
  "authorization.committed": "committed",
  "authorization.cancelled": "cancelled",
  "authorization.expired": "expired"
}

const DECISIONS = new Set(["authorization.reserved", "authorization.denied", "authorization.indeterminate"])

/** Counts what a change has recorded: its events, decisions with their reasons, and reservations. */
export const countRecorded = (
  { decisions, journalEvents, reasons, reservations }: ServiceMetrics["decisions"],
  { authorizations, events }: Pick<StreamChange, "authorizations" | "events">
): void => {
  for (const { authorizationId, type } of events) {
    journalEvents.add(1, type)
    const authorization = authorizations.find(({ id }) => id === authorizationId)
    if (authorization === undefined) continue
    const step = STEPS[type]
    // A report that came after the expiry closes no reservation.
    if (step !== undefined && !(step === "committed" && authorization.late)) reservations.add(1, step)
    if (!DECISIONS.has(type)) continue
    decisions.add(1, authorization.decision)
    for (const code of new Set(authorization.reasons.map((reason) => reason.code))) {
      reasons.add(1, authorization.decision, code)
    }
  }
}
