import { MandateStore } from "@svc/domain/ports/MandateStore"
import { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import { Effect, Layer, References, Tracer } from "effect"
import { STATUS } from "./SafeTracer.ts"

/** Most events whose trace is remembered; the eldest make room. */
export const MAX_REMEMBERED_EVENTS = 10_000

/** The traces in which events were recorded, so that their webhooks continue them. */
export interface EventTraces {
  readonly remember: (event: string, span: Tracer.AnySpan) => void
  /** Absent for an event that another process recorded, or this one long ago. */
  readonly find: (event: string) => Tracer.ExternalSpan | undefined
}

export const makeEventTraces = (): EventTraces => {
  const spans = new Map<string, Tracer.ExternalSpan>()
  return {
    remember: (event, { sampled, spanId, traceId }) => {
      const [eldest] = spans.keys()
      if (eldest !== undefined && spans.size >= MAX_REMEMBERED_EVENTS) spans.delete(eldest)
      spans.set(event, Tracer.externalSpan({ sampled, spanId, traceId }))
    },
    find: (event) => spans.get(event)
  }
}

/** The same store, which remembers in which trace it recorded each event. */
export const tracedStore = (traces: EventTraces): Layer.Layer<MandateStore, never, MandateStore> =>
  Layer.effect(
    MandateStore,
    Effect.map(MandateStore, (store) => ({
      ...store,
      append: (change) =>
        Effect.tap(store.append(change), () =>
          Effect.map(Effect.option(Effect.currentParentSpan), (parent) => {
            if (parent._tag === "None" || !parent.value.sampled) return
            for (const { id } of change.events) traces.remember(id, parent.value)
          })
        )
    }))
  )

const SAMPLED_FLAGS = { true: "01", false: "00" } as const

/** A span as the header that makes it the parent of the receiver's (W3C Trace Context). */
export const traceparentOf = ({ sampled, spanId, traceId }: Tracer.Span): string =>
  `00-${traceId}-${spanId}-${SAMPLED_FLAGS[`${sampled}`]}`

/** The same transport, with a span around each attempt that continues the trace of its event, and the header for the receiver. */
export const tracedTransport = (
  traces: EventTraces
): Layer.Layer<WebhookTransport, never, WebhookTransport> =>
  Layer.effect(
    WebhookTransport,
    Effect.map(WebhookTransport, (transport) => ({
      check: transport.check,
      deliver: (attempt) =>
        Effect.flatMap(References.CurrentLogAnnotations, ({ event_id: event }) => {
          const parent = traces.find(String(event))
          return Effect.useSpan(
            "webhook attempt",
            {
              kind: "client",
              attributes: { "http.request.method": "POST" },
              ...(parent === undefined ? { root: true } : { root: true, parent })
            },
            (span) =>
              Effect.tap(
                transport.deliver({
                  ...attempt,
                  headers: { ...attempt.headers, traceparent: traceparentOf(span) }
                }),
                ({ error, status }) =>
                  Effect.sync(() => {
                    if (status !== undefined) span.attribute(STATUS, status)
                    if (error !== undefined) span.attribute("error.type", error)
                  })
              )
          )
        })
    }))
  )
