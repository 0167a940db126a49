import { type Duration, Effect, Layer, Redacted, Tracer } from "effect"
import {
  FetchHttpClient,
  HttpClient,
  HttpClientError,
  type HttpClientRequest,
  type HttpClientResponse
} from "effect/http"
import { OtlpExporter, OtlpSerialization, OtlpTracer } from "effect/observability"
import { safeTracer } from "./SafeTracer.ts"
import { makeSampler, type SamplerName } from "./TraceSampler.ts"

/** Where traces are sent, and which. */
export interface OtlpTracesOptions {
  readonly url: string
  /** They may hold credentials. */
  readonly headers: Redacted.Redacted<Readonly<Record<string, string>>>
  readonly protocol: "http/protobuf" | "http/json"
  readonly compression: "gzip" | "none"
  /** Longest that one export may take. */
  readonly timeout: Duration.Input
  readonly exportInterval: Duration.Input
  /** Spans of one export. */
  readonly maxBatchSize: number
  readonly sampler: SamplerName
  /** Of the samplers by trace id, from 0 to 1. */
  readonly samplerRatio: number
  readonly serviceName: string
  readonly serviceVersion: string
  readonly resourceAttributes: Readonly<Record<string, string>>
}

/** While so many exports are under way no trace begins, so that a slow collector costs a bounded amount of memory. */
export const MAX_EXPORTS_UNDER_WAY = 4

/** How long a stopping process tries to export the last spans. */
const SHUTDOWN_TIMEOUT: Duration.Input = "2 seconds"

type Response = HttpClientResponse.HttpClientResponse

/** A client that gives up after the timeout, and tells how many requests are under way. */
const boundedClient = (timeout: Duration.Input) => {
  let underWay = 0
  const bounded = <R>(
    response: Effect.Effect<Response, HttpClientError.HttpClientError, R>,
    request: HttpClientRequest.HttpClientRequest
  ) =>
    Effect.suspend(() => {
      underWay += 1
      return response.pipe(
        Effect.timeoutOrElse({
          duration: timeout,
          orElse: () => {
            const reason = new HttpClientError.TransportError({ request, description: "timeout" })
            return Effect.fail(new HttpClientError.HttpClientError({ reason }))
          }
        }),
        Effect.ensuring(
          Effect.sync(() => {
            underWay -= 1
          })
        )
      )
    })
  const layer = Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, HttpClient.transform(bounded))
  ).pipe(Layer.provide(FetchHttpClient.layer))
  return { layer, underWay: () => underWay }
}

/**
 * A tracer that exports spans by OTLP over HTTP, in the background. A collector that fails or hangs costs spans and nothing
 * else: after a failure nothing is exported for a minute, and while exports pile up no trace begins.
 */
export const otlpTraces = (options: OtlpTracesOptions): Layer.Layer<never> => {
  const client = boundedClient(options.timeout)
  const tracer = Effect.map(
    OtlpTracer.make({
      url: options.url,
      headers: Redacted.value(options.headers),
      compression: options.compression,
      exportInterval: options.exportInterval,
      maxBatchSize: options.maxBatchSize,
      shutdownTimeout: SHUTDOWN_TIMEOUT,
      resource: {
        serviceName: options.serviceName,
        serviceVersion: options.serviceVersion,
        attributes: options.resourceAttributes
      }
    }),
    (exporting) =>
      safeTracer(
        exporting,
        makeSampler(options.sampler, options.samplerRatio),
        () => client.underWay() >= MAX_EXPORTS_UNDER_WAY
      )
  )
  const serialization =
    options.protocol === "http/json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf
  return Layer.effect(Tracer.Tracer, tracer).pipe(
    Layer.provide([OtlpExporter.layerFlusher, serialization, client.layer])
  )
}
