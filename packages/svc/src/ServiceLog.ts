import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { annotationsOf, CurrentRequest } from "@svc/http-server/http/CurrentRequest"
import { Cause, Effect, Logger, References } from "effect"
import type { LogEntry } from "./ServiceOptions.ts"
import { unawaited } from "./Thenable.ts"

const LEVELS: Readonly<Record<string, LogEntry["level"]>> = {
  Fatal: "error",
  Error: "error",
  Warn: "warn",
  Info: "info"
}

/** Other objects are not printed, since they might hold secrets, and neither is what a store quotes of its rows. */
const textOf = (part: unknown): string => {
  if (typeof part === "string" || typeof part === "number") return String(part)
  if (part instanceof StoreUnavailable) return typeof part.cause === "string" ? part.cause : part._tag
  if (part instanceof Error) return `${part.name}: ${part.message}`
  return part === undefined ? "" : `(${typeof part})`
}

/** Warnings and errors, a line each. */
const toConsole = ({ cause, facts, level, message }: LogEntry): void => {
  if (level !== "warn" && level !== "error") return
  const about = Object.keys(facts).length === 0 ? "" : ` ${JSON.stringify(facts)}`
  console[level](`svc: ${message}${about}${cause === undefined ? "" : `\n${cause}`}`)
}

const noteFailure = (fault: unknown): void => console.error("svc: the logger failed:", fault)

/** A logger of the host that throws, or returns a promise that rejects, must not make requests or the process fail. */
const guarded =
  (log: (entry: LogEntry) => unknown) =>
  (entry: LogEntry): void => {
    try {
      unawaited(log(entry), noteFailure)
    } catch (fault) {
      noteFailure(fault)
    }
  }

/** How often a fault that repeats is logged, in milliseconds. */
const FAULT_LOG_MILLISECONDS = 10_000

/** Logs faults that are found outside of a program, the same one only so often. */
export const makeFaultLog = (log?: (entry: LogEntry) => void) => {
  let last = { message: "", at: 0 }
  return (message: string, facts: LogEntry["facts"] = {}): void => {
    const at = performance.now()
    if (message === last.message && at - last.at < FAULT_LOG_MILLISECONDS) return
    last = { message, at }
    Effect.runSync(
      Effect.logError(message).pipe(Effect.annotateLogs(facts), Effect.provide(loggerLayer(log)))
    )
  }
}

/** Hands every entry to the host, with the facts of the request beside the message. */
export const loggerLayer = (log: (entry: LogEntry) => void = toConsole) => {
  const write = guarded(log)
  return Logger.layer([
    Logger.make<unknown, void>(({ cause, fiber, logLevel, message }) => {
      const request = fiber.getRef(CurrentRequest)
      write({
        level: LEVELS[logLevel] ?? "debug",
        message: (Array.isArray(message) ? message : [message]).map(textOf).join(" "),
        facts: {
          ...(request.requestId === "" ? {} : annotationsOf(request)),
          ...fiber.getRef(References.CurrentLogAnnotations)
        },
        ...(cause.reasons.length === 0 ? {} : { cause: Cause.pretty(cause) })
      })
    })
  ])
}
