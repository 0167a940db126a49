import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { annotationsOf, CurrentRequest, type RequestFacts } from "@svc/http-server/http/CurrentRequest"
import { Cause, Layer, Logger, type LogLevel, References } from "effect"
import { databaseFault } from "./DatabaseFault.ts"

/** An object on a line: what is known about the request beside the message, not below it. */
const line = Logger.make<unknown, string>(({ cause, date, fiber, logLevel, message }) =>
  JSON.stringify({
    time: date.toISOString(),
    level: logLevel.toLowerCase(),
    message: (Array.isArray(message) ? message : [message]).map(wordOf).join(" "),
    ...requestOf(fiber.getRef(CurrentRequest)),
    ...fiber.getRef(References.CurrentLogAnnotations),
    ...(cause.reasons.length > 0 ? { cause: causeOf(cause) } : {})
  })
)

/** Whatever is said while a request is served names it, and what is known by then of whom and what it is about. */
const requestOf = (facts: RequestFacts) => (facts.requestId === "" ? {} : annotationsOf(facts))

/** Why a store cannot be had, without the rows and statements that the cause may quote. */
const storeWords = (unavailable: StoreUnavailable): string =>
  typeof unavailable.cause === "string" ? unavailable.cause : databaseFault(unavailable, undefined).line

/** A store that cannot be had is told in a line: where in the program that came up says nothing of why. */
const causeOf = (cause: Cause.Cause<unknown>): string => {
  const lines = cause.reasons.map((reason) =>
    Cause.isFailReason(reason) && reason.error instanceof StoreUnavailable
      ? `StoreUnavailable: ${storeWords(reason.error)}`
      : undefined
  )
  return lines.includes(undefined) ? Cause.pretty(cause) : lines.join("; ")
}

/** Objects are not spelled out, since nobody has looked through what they hold. */
const wordOf = (part: unknown): string => {
  if (typeof part === "string" || typeof part === "number") return String(part)
  if (part instanceof StoreUnavailable) return storeWords(part)
  if (part instanceof Error) return `${part.name}: ${part.message}`
  return part === undefined ? "" : `(${typeof part})`
}

/** Structured logs on standard output, from this level on. */
export const layer = (level: LogLevel.LogLevel): Layer.Layer<never> =>
  Layer.merge(Logger.layer([Logger.withConsoleLog(line)]), Layer.succeed(References.MinimumLogLevel)(level))
