import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { annotationsOf, CurrentRequest } from "@svc/http-server/http/CurrentRequest"
import { Cause, Logger, References } from "effect"
import type { LogEntry } from "./ServiceOptions.ts"

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
  console[level](`svc: ${message} ${JSON.stringify(facts)}${cause === undefined ? "" : `\n${cause}`}`)
}

/** A logger of the host that throws must not make requests fail. */
const guarded =
  (log: (entry: LogEntry) => void) =>
  (entry: LogEntry): void => {
    try {
      log(entry)
    } catch (fault) {
      console.error("svc: the logger failed:", fault)
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
