import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { vi } from "vitest"
import { layer, layerLoaded } from "./WebhookTransportHttp.ts"

const loads = vi.hoisted(() => ({ count: 0 }))
vi.mock("undici", (original) => {
  loads.count += 1
  return original()
})

describe("the HTTP client of webhooks", () => {
  it.effect("waits for the first attempt in an embedded service, and in a server for none", () =>
    Effect.gen(function* () {
      yield* Layer.build(layer({ loopbackAllowed: false }))
      assert.strictEqual(loads.count, 0)
      yield* Layer.build(layerLoaded({ loopbackAllowed: false }))
      assert.strictEqual(loads.count, 1)
    })
  )
})
