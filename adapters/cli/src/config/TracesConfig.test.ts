import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted, Result } from "effect"
import { version } from "../start/Version.ts"
import { tracesConfig } from "./TracesConfig.ts"

const ENDPOINT = "http://collector:4318"

const read = (env: Readonly<Record<string, string>>) =>
  Effect.result(
    Effect.provideService(tracesConfig, ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))
  )

const readValid = (env: Readonly<Record<string, string>>) =>
  Effect.flatMap(read({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, ...env }), Effect.fromResult)

describe("the variables of OpenTelemetry", () => {
  it.effect("ask for no traces without an endpoint, or when they are off", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read({}), Result.succeed(undefined))
      assert.isUndefined(yield* readValid({ OTEL_SDK_DISABLED: "TRUE" }))
      assert.isUndefined(yield* readValid({ OTEL_TRACES_EXPORTER: "none" }))
      assert.isUndefined(yield* readValid({ OTEL_EXPORTER_OTLP_ENDPOINT: "" }))
    })
  )

  it.effect("have the defaults of the specification", () =>
    Effect.gen(function* () {
      const { headers, ...options } = (yield* readValid({}))!
      assert.deepStrictEqual(Redacted.value(headers), {})
      assert.deepStrictEqual(options, {
        url: `${ENDPOINT}/v1/traces`,
        protocol: "http/protobuf",
        compression: "none",
        timeout: 10_000,
        exportInterval: 5000,
        maxBatchSize: 512,
        sampler: "parentbased_always_on",
        samplerRatio: 1,
        serviceName: "svc",
        serviceVersion: version(),
        resourceAttributes: {}
      })
    })
  )

  it.effect("for traces alone take precedence", () =>
    Effect.gen(function* () {
      const { headers, ...options } = (yield* readValid({
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://traces.example/in?x=1",
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=general",
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: "authorization=Bearer%20abc, x-tenant=t",
        OTEL_EXPORTER_OTLP_TIMEOUT: "1",
        OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "2000",
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
        OTEL_EXPORTER_OTLP_COMPRESSION: "gzip"
      }))!
      assert.deepStrictEqual(Redacted.value(headers), { authorization: "Bearer abc", "x-tenant": "t" })
      assert.notInclude(String(headers), "abc")
      assert.include(options, {
        url: "https://traces.example/in?x=1",
        timeout: 2000,
        protocol: "http/json",
        compression: "gzip"
      })
    })
  )

  it.effect("name the service and say which traces are exported", () =>
    Effect.gen(function* () {
      const resource = {
        OTEL_RESOURCE_ATTRIBUTES: "service.name=a,service.version=2,deployment.environment=eu%20west"
      }
      const named = (yield* readValid(resource))!
      assert.include(named, { serviceName: "a", serviceVersion: "2" })
      assert.strictEqual(named.resourceAttributes["deployment.environment"], "eu west")
      const sampled = (yield* readValid({
        ...resource,
        OTEL_SERVICE_NAME: "b",
        OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG: "0.01"
      }))!
      assert.include(sampled, {
        serviceName: "b",
        sampler: "parentbased_traceidratio",
        samplerRatio: 0.01
      })
    })
  )

  for (const [name, value] of [
    ["OTEL_SDK_DISABLED", "yes"],
    ["OTEL_TRACES_EXPORTER", "jaeger"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "authorization"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a=%ZZ"],
    ["OTEL_EXPORTER_OTLP_TIMEOUT", "0"],
    ["OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"],
    ["OTEL_TRACES_SAMPLER", "jaeger_remote"],
    ["OTEL_TRACES_SAMPLER_ARG", "2"],
    ["OTEL_RESOURCE_ATTRIBUTES", "=x"],
    ["OTEL_BSP_SCHEDULE_DELAY", "-1"]
  ] as const) {
    it.effect(`refuse ${name}=${value}, without quoting the value`, () =>
      Effect.gen(function* () {
        const result = yield* read({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, [name]: value })
        assert.isTrue(Result.isFailure(result))
        if (Result.isFailure(result)) {
          assert.strictEqual(result.failure.exitCode, 78)
          assert.isTrue(result.failure.line.startsWith(`${name} must be `))
        }
      })
    )
  }
})
