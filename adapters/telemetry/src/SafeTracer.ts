import { Cause, Exit, Option, Tracer } from "effect"
import type { TraceSampler } from "./TraceSampler.ts"

/** Longest text of a statement that a span holds, in UTF-16 units; it has parameters in place of values. */
export const MAX_STATEMENT_LENGTH = 256

const STATEMENT = "db.query.text"
/** The attribute of a span for a request that was answered. */
export const STATUS = "http.response.status_code"
const FIRST_SERVER_FAULT = 500

/** A failure without its message, which may quote what was sent or stored. */
class NamedFailure extends Error {
  override readonly stack: string

  constructor(name: string) {
    super("")
    this.name = name
    this.stack = name
  }
}

const nameOf = (failure: unknown): string => {
  if (typeof failure !== "object" || failure === null) return "Failure"
  if ("_tag" in failure && typeof failure._tag === "string") return failure._tag
  return failure instanceof Error ? failure.name : "Failure"
}

/** How a span ended, by the names of what failed alone. */
const namedExit = (exit: Exit.Exit<unknown, unknown>, span: Tracer.Span): Exit.Exit<unknown, unknown> => {
  if (Exit.isFailure(exit)) {
    if (Cause.hasInterruptsOnly(exit.cause)) return exit
    const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    return Exit.fail(new NamedFailure(failure === undefined ? "Defect" : nameOf(failure)))
  }
  const status = span.attributes.get(STATUS)
  return typeof status === "number" && status >= FIRST_SERVER_FAULT
    ? Exit.fail(new NamedFailure(String(status)))
    : exit
}

const shortened = (key: string, value: unknown): unknown =>
  key === STATEMENT ? String(value).replaceAll(/\s+/gu, " ").slice(0, MAX_STATEMENT_LENGTH) : value

/** The same span, which keeps no message of a failure and no long statement. */
const safe = (span: Tracer.Span): Tracer.Span => {
  const end = span.end.bind(span)
  const attribute = span.attribute.bind(span)
  span.end = (at, exit) => end(at, namedExit(exit, span))
  span.attribute = (key, value) => attribute(key, shortened(key, value))
  return span
}

/** Whether a span may begin a trace here: a request, or what asks for it. The polling of workers does not. */
const mayBegin = ({ kind, root }: Parameters<Tracer.Tracer["span"]>[0]): boolean => root || kind === "server"

/**
 * Puts a sampler before a tracer, and keeps from it what must not leave the process. `isBehind` tells that the tracer's
 * exporter does not keep up, during which no trace begins.
 */
export const safeTracer = (
  tracer: Tracer.Tracer,
  sampler: TraceSampler,
  isBehind: () => boolean
): Tracer.Tracer =>
  Tracer.make({
    ...(tracer.context === undefined ? {} : { context: tracer.context }),
    span: (options) => {
      const parent = Option.getOrUndefined(options.parent)
      if (parent?._tag === "Span") return safe(tracer.span(options))
      const begun = tracer.span({ ...options, sampled: true })
      const parentSampled = parent?.sampled
      const isSampled = mayBegin(options) && !isBehind() && sampler({ traceId: begun.traceId, parentSampled })
      return safe(isSampled ? begun : tracer.span({ ...options, sampled: false }))
    }
  })
