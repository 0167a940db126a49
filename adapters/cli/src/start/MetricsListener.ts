import { httpListener } from "@svc/http-server/http/HttpListener"
import { httpRoute } from "@svc/http-server/http/HttpRoute"
import { RequestObserver } from "@svc/http-server/http/RequestObserver"
import { type MetricFamilies, PROMETHEUS_MEDIA_TYPE } from "@svc/telemetry/MetricFamilies"
import { Effect, Layer, References } from "effect"
import { HttpServerResponse } from "effect/http"

/** Where the metrics are listened for. */
export interface MetricsAddress {
  readonly port: number
  readonly host: string | undefined
}

const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" }

/**
 * `GET /metrics` in Prometheus' text format, on a port of its own. Its requests are neither logged nor counted, since they
 * come every few seconds.
 */
export const metricsListener = ({ host, port }: MetricsAddress, { exposition }: MetricFamilies) => {
  const answer = Effect.sync(() =>
    HttpServerResponse.text(exposition(), { contentType: PROMETHEUS_MEDIA_TYPE })
  )
  return httpListener([httpRoute("GET", "/metrics", () => answer)], {
    // Problems are named relative to this listener, which has no pages about them.
    baseUrl: "",
    headers: HEADERS,
    port,
    ...(host === undefined ? {} : { host })
  }).pipe(
    Layer.provide(
      Layer.merge(
        Layer.succeed(References.MinimumLogLevel)("Warn"),
        Layer.succeed(RequestObserver)(undefined)
      )
    )
  )
}
