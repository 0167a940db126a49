import { annotationsOf, CurrentRequest, type RequestFacts } from "@svc/http-server/http/CurrentRequest"
import { Console, Layer, Logger, type LogLevel, References } from "effect"
import { describeCause, describeMessage } from "./LogText.ts"

/** One JSON object per line; the facts of the request are members beside the message. */
const line = Logger.make<unknown, string>(({ cause, date, fiber, logLevel, message }) =>
  JSON.stringify({
    time: date.toISOString(),
    level: logLevel.toLowerCase(),
    message: describeMessage(message),
    ...requestMembers(fiber.getRef(CurrentRequest)),
    ...fiber.getRef(References.CurrentLogAnnotations),
    ...(cause.reasons.length > 0 ? { cause: describeCause(cause) } : {})
  })
)

/** The facts of the current request that are known so far. */
const requestMembers = (facts: RequestFacts) => (facts.requestId === "" ? {} : annotationsOf(facts))

/** Lines that wait for the end of this turn of the event loop. */
let waiting: Array<string> = []

const writeWaiting = (): void => {
  if (waiting.length === 0) return
  const lines = `${waiting.join("\n")}\n`
  waiting = []
  process.stdout.write(lines)
}

/**
 * Writes all lines of a turn of the event loop at once: each write is a system call. Not through the console, which would
 * format them and note them for an inspector first.
 */
const writeLater = (text: string): void => {
  if (waiting.length === 0) setImmediate(writeWaiting)
  waiting.push(text)
}

process.on("exit", writeWaiting)

const toConsole = Logger.make<unknown, void>((entry) => {
  const text = line.log(entry)
  const target = entry.fiber.getRef(Console.Console)
  if (target === globalThis.console) writeLater(text)
  else target.log(text)
})

/** Logs JSON lines to standard output, from the given level up. */
export const layer = (level: LogLevel.LogLevel): Layer.Layer<never> =>
  Layer.merge(Logger.layer([toConsole]), Layer.succeed(References.MinimumLogLevel)(level))
