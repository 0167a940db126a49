import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { ask } from "@svc/http-server/test/RawExchange"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { Effect, Exit, Layer, Redacted, References, Scope, Tracer } from "effect"
import { NO_INSTRUMENTS } from "./Instruments.ts"
import { instrumentsOf } from "./Telemetry.ts"

const HOST = "127.0.0.1"

/** A port that was free a moment ago. */
const freePort = Effect.promise(
  () =>
    new Promise<number>((resolve) => {
      const server = createServer().listen(0, HOST, () => {
        const { port } = server.address() as AddressInfo
        server.close(() => resolve(port))
      })
    })
)

const scrape = (port: number) => Effect.promise(() => ask(port, ["GET /metrics HTTP/1.1", "host: a.example"]))

/** Whether spans are made, and by whose tracer. */
const tracing = Effect.all({ isEnabled: References.TracerEnabled, tracer: Tracer.Tracer })

describe("what observes a process", () => {
  it.effect("is nothing unless it is asked for", () =>
    Effect.gen(function* () {
      const instruments = yield* instrumentsOf({ host: undefined })
      assert.strictEqual(instruments, NO_INSTRUMENTS)
      const { isEnabled } = yield* Effect.provide(tracing, instruments.tracing)
      assert.isFalse(isEnabled)
    })
  )

  it.live("listens for scrapes on the port and the address of the settings, until the process stops", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const { beside, tracing: layer } = yield* instrumentsOf({ host: HOST, metricsPort: port })
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.provide(beside, MemoryStore.layer), scope)
      const answer = yield* scrape(port)
      assert.strictEqual(answer.status, 200)
      assert.include(answer.body, "\nprocess_cpu_seconds_total ")
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(scrape(port))))
      assert.isFalse((yield* Effect.provide(tracing, layer)).isEnabled)
    })
  )

  it.live("traces where there is an endpoint, with or without metrics", () =>
    Effect.gen(function* () {
      const instruments = yield* instrumentsOf({
        host: undefined,
        traces: {
          url: `http://${HOST}:1/v1/traces`,
          headers: Redacted.make({}),
          protocol: "http/protobuf",
          compression: "none",
          timeout: "1 second",
          exportInterval: "1 hour",
          maxBatchSize: 512,
          sampler: "always_off",
          samplerRatio: 1,
          serviceName: "svc",
          serviceVersion: "1",
          resourceAttributes: {}
        }
      })
      const { isEnabled, tracer } = yield* Effect.provide(tracing, instruments.tracing)
      assert.isTrue(isEnabled)
      assert.notStrictEqual(tracer, (yield* tracing).tracer)
    })
  )
})
