import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Cause } from "effect"
import { databaseFault } from "./DatabaseFault.ts"

/** Why the store is unavailable, without the rows and statements that the cause may quote. */
const describeUnavailable = (unavailable: StoreUnavailable): string =>
  typeof unavailable.cause === "string" ? unavailable.cause : databaseFault(unavailable, undefined).line

/** An unavailable store is described in one line, since the stack trace does not say why it is. */
export const describeCause = (cause: Cause.Cause<unknown>): string => {
  const lines = cause.reasons.map((reason) =>
    Cause.isFailReason(reason) && reason.error instanceof StoreUnavailable
      ? `StoreUnavailable: ${describeUnavailable(reason.error)}`
      : undefined
  )
  return lines.includes(undefined) ? Cause.pretty(cause) : lines.join("; ")
}

/** Other objects are not printed, since they might hold secrets. */
const describePart = (part: unknown): string => {
  if (typeof part === "string" || typeof part === "number") return String(part)
  if (part instanceof StoreUnavailable) return describeUnavailable(part)
  if (part instanceof Error) return `${part.name}: ${part.message}`
  return part === undefined ? "" : `(${typeof part})`
}

/** What was logged, in words. */
export const describeMessage = (message: unknown): string =>
  (Array.isArray(message) ? message : [message]).map(describePart).join(" ")
