import { RequestSpans } from "@svc/http-server/http/RequestSpan"
import { type OtlpTracesOptions, otlpTraces } from "@svc/telemetry/OtlpTraces"
import { makeEventTraces, tracedStore, tracedTransport } from "@svc/telemetry/TracedPorts"
import { Layer } from "effect"
import type { Instruments } from "./Instruments.ts"

/** The same instruments, and spans of requests, of what they do and of the webhooks that follow, exported by OTLP. */
export const withTraces = (
  instruments: Instruments,
  options: OtlpTracesOptions,
  tracer: Layer.Layer<never> = otlpTraces(options)
): Instruments => {
  const traces = makeEventTraces()
  return {
    ...instruments,
    store: Layer.provideMerge(tracedStore(traces), instruments.store),
    webhookTransport: Layer.provide(tracedTransport(traces), instruments.webhookTransport),
    tracing: Layer.merge(tracer, Layer.succeed(RequestSpans)(true))
  }
}
