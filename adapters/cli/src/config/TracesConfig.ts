import type { OtlpTracesOptions } from "@svc/telemetry/OtlpTraces"
import { Effect, Redacted } from "effect"
import { type StartFault, validateAll } from "../start/StartFault.ts"
import { version } from "../start/Version.ts"
import {
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
  OTEL_BSP_SCHEDULE_DELAY,
  OTEL_RESOURCE_ATTRIBUTES,
  OTEL_SDK_DISABLED,
  OTEL_SERVICE_NAME,
  OTEL_TRACES_EXPORTER,
  OTEL_TRACES_SAMPLER,
  OTEL_TRACES_SAMPLER_ARG,
  OTLP_COMPRESSION,
  OTLP_ENDPOINT,
  OTLP_HEADERS,
  OTLP_PROTOCOL,
  OTLP_TIMEOUT,
  OTLP_TRACES_COMPRESSION,
  OTLP_TRACES_ENDPOINT,
  OTLP_TRACES_HEADERS,
  OTLP_TRACES_PROTOCOL,
  OTLP_TRACES_TIMEOUT
} from "./OpenTelemetrySettings.ts"
import { optional, required, type Setting } from "./Setting.ts"

const DEFAULT_SERVICE_NAME = "svc"
const NO_HEADERS = Redacted.make({}, { label: "otlp headers" })
const TRACES_PATH = "v1/traces"

/** The setting for traces, or else the general one. */
const either = <A, B>(
  ofTraces: Setting<A>,
  general: Effect.Effect<B, StartFault>
): Effect.Effect<A | B, StartFault> =>
  Effect.flatMap(
    optional(ofTraces),
    (value): Effect.Effect<A | B, StartFault> => (value === undefined ? general : Effect.succeed(value))
  )

/** The endpoint for traces as it is, or the collector's with the path of traces. */
const endpoint = Effect.gen(function* () {
  const own = yield* optional(OTLP_TRACES_ENDPOINT)
  if (own !== undefined) return own.href
  const collector = yield* optional(OTLP_ENDPOINT)
  if (collector === undefined) return undefined
  collector.pathname += `${collector.pathname.endsWith("/") ? "" : "/"}${TRACES_PATH}`
  return collector.href
})

/** Where traces are exported to, by the variables of OpenTelemetry; absent when there is no endpoint or they are off. */
export const tracesConfig: Effect.Effect<OtlpTracesOptions | undefined, StartFault> = Effect.gen(
  function* () {
    const { disabled, exporter, url } = yield* validateAll({
      disabled: required(OTEL_SDK_DISABLED),
      exporter: required(OTEL_TRACES_EXPORTER),
      url: endpoint
    })
    if (disabled === "true" || exporter === "none" || url === undefined) return undefined
    const { headers, name, resource, ...others } = yield* validateAll({
      protocol: either(OTLP_TRACES_PROTOCOL, required(OTLP_PROTOCOL)),
      headers: either(OTLP_TRACES_HEADERS, optional(OTLP_HEADERS)),
      timeout: either(OTLP_TRACES_TIMEOUT, required(OTLP_TIMEOUT)),
      compression: either(OTLP_TRACES_COMPRESSION, required(OTLP_COMPRESSION)),
      name: optional(OTEL_SERVICE_NAME),
      resource: optional(OTEL_RESOURCE_ATTRIBUTES),
      sampler: required(OTEL_TRACES_SAMPLER),
      samplerRatio: required(OTEL_TRACES_SAMPLER_ARG),
      exportInterval: required(OTEL_BSP_SCHEDULE_DELAY),
      maxBatchSize: required(OTEL_BSP_MAX_EXPORT_BATCH_SIZE)
    })
    return {
      ...others,
      url,
      headers: headers ?? NO_HEADERS,
      serviceName: name ?? resource?.["service.name"] ?? DEFAULT_SERVICE_NAME,
      serviceVersion: resource?.["service.version"] ?? version(),
      resourceAttributes: resource ?? {}
    }
  }
)
