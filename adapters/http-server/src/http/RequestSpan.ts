import { Context, Effect, Tracer } from "effect"
import { annotationsOf, type RequestFacts } from "./CurrentRequest.ts"

/** Whether each request has a span of its own. Default: no, but what it does is part of the caller's. */
export const RequestSpans = Context.Reference<boolean>("@svc/http-server/http/RequestSpans", {
  defaultValue: () => false
})

/** The facts of a request that are its attributes; those of the trace are the span's own. */
const attributesOf = (facts: RequestFacts): ReadonlyArray<readonly [string, string]> =>
  Object.entries(annotationsOf(facts)).filter(([name]) => name !== "trace_id" && name !== "span_id")

/** Within the span of the caller. */
const withinTrace = <A, R>(
  answered: Effect.Effect<A, never, R>,
  { trace }: RequestFacts
): Effect.Effect<A, never, R> =>
  trace === undefined ? answered : Effect.withParentSpan(answered, Tracer.externalSpan(trace))

/**
 * Runs a request within a span that is named by its method and its route and never by its path, and that log lines name
 * from then on. Without spans of requests it runs within that of the caller.
 */
export const withinSpan = <A extends { readonly status: number }, R>(
  answered: Effect.Effect<A, never, R>,
  method: string,
  facts: RequestFacts
): Effect.Effect<A, never, R> =>
  Effect.flatMap(RequestSpans, (isTraced) => {
    if (!isTraced) return withinTrace(answered, facts)
    const { route, trace } = facts
    return Effect.useSpan(
      route === undefined ? method : `${method} ${route}`,
      {
        kind: "server",
        attributes: {
          "http.request.method": method,
          ...(route === undefined ? {} : { "http.route": route })
        },
        ...(trace === undefined ? { root: true } : { parent: Tracer.externalSpan(trace) })
      },
      (span) => {
        facts.trace = { traceId: span.traceId, spanId: span.spanId, sampled: span.sampled }
        return Effect.tap(Effect.withParentSpan(answered, span), ({ status }) =>
          Effect.sync(() => {
            span.attribute("http.response.status_code", status)
            for (const [name, value] of attributesOf(facts)) span.attribute(`svc.${name}`, value)
          })
        )
      }
    )
  })
