import { type Layer, Logger, References } from "effect"
import { describeCause, describeMessage } from "./LogText.ts"

/** A logged message in the form of a command's faults: `svc <name>: <message> (<annotation> <value>, ...)`. */
export const commandLine = (name: string): Logger.Logger<unknown, string> =>
  Logger.make(({ cause, fiber, message }) => {
    const annotations = Object.entries(fiber.getRef(References.CurrentLogAnnotations))
    const facts = annotations.map(([fact, value]) => `${fact.replaceAll("_", " ")} ${value}`)
    return [
      `svc ${name}: ${describeMessage(message)}`,
      ...(facts.length > 0 ? [` (${facts.join(", ")})`] : []),
      ...(cause.reasons.length > 0 ? [`: ${describeCause(cause)}`] : [])
    ].join("")
  })

/** Logs what a command is told meanwhile to standard error, since standard output holds only its result. */
export const layer = (name: string): Layer.Layer<never> =>
  Logger.layer([Logger.withConsoleError(commandLine(name))])
