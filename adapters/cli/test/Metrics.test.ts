import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Signer } from "@svc/domain/ports/Signer"
import { SigningKeyRecords } from "@svc/domain/ports/SigningKeyRecords"
import { ask } from "@svc/http-server/test/RawExchange"
import * as KeyManagementOnDemand from "@svc/kms/KeyManagementOnDemand"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import { makeManagedSigningKey } from "@svc/signer/StoredSigningKey"
import { preparedPglite } from "@svc/store-postgres/test/PreparedPglite"
import { PROMETHEUS_MEDIA_TYPE } from "@svc/telemetry/MetricFamilies"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { makeMetering } from "../src/start/Metering.ts"
import { metricsListener } from "../src/start/MetricsListener.ts"
import * as StoreLayer from "../src/start/StoreLayer.ts"
import { awsKmsInEnvironment } from "./AwsKmsInEnvironment.ts"
import { parseExposition, samplesByName } from "./Exposition.ts"
import { bodyOf, startService } from "./ServiceUnderTest.ts"

const PAGE = readFileSync(new URL("../../../docs/metrics.md", import.meta.url), "utf8")

/** What docs/metrics.md says of each metric. */
const documented = (): ReadonlyArray<readonly [string, string]> =>
  [...PAGE.matchAll(/^\| `([a-z_]+)` \| (counter|gauge|histogram) \|([^|]*)\|/gmu)].map(
    ([, name = "", type = "", labels = ""]) => [
      name,
      `${type} ${[...labels.matchAll(/`([a-z]+)`/gu)].map(([, label]) => label).join(" ")}`.trim()
    ]
  )

/** A service with metrics, and a life that updates all of them. */
const observedLife = Effect.gen(function* () {
  const metering = makeMetering()
  const service = yield* startService({
    instruments: metering,
    store: { pglite: yield* preparedPglite },
    working: Layer.empty
  })
  const { tenant } = service
  const mandate = yield* tenant.activeMandate({
    kind: "RECURRING",
    subject_reference: "subject-4711",
    policy: {
      currency: "EUR",
      max_amount: 5000,
      allowed_actions: ["card.create"],
      periods: [{ unit: "DAY", max_amount: 9000 }]
    }
  })
  const committed = yield* tenant.propose(mandate.id, 4000)
  bodyOf(yield* tenant.commit(committed), 200)
  bodyOf(yield* tenant.cancel((yield* tenant.propose(mandate.id, 1)).id), 200)
  yield* tenant.propose(mandate.id, 5001)
  yield* tenant.get(`/v1/mandates/${mandate.id}`)
  yield* tenant.send({ path: `/v1/mandates/${mandate.id}/evidence` })
  yield* tenant.send({ path: "/v1/subject-4711" })
  yield* tenant.send({ method: "PATCH", path: "/v1/mandates" })
  const { organization } = tenant
  const names = [organization.id, organization.name, mandate.id, committed.id, "4711"]
  return { text: metering.families.exposition(), names }
}).pipe(Effect.scoped)

let life: Promise<Effect.Success<typeof observedLife>> | undefined

/** It is lived once, for each test that looks at it. */
const livedOnce = Effect.promise(() => {
  life ??= Effect.runPromise(observedLife)
  return life
})

describe("metrics of a service", () => {
  it.live("are those of docs/metrics.md, by name, type and labels", () =>
    Effect.gen(function* () {
      const { text } = yield* livedOnce
      const exposed = parseExposition(text).map(
        ({ labels, name, type }) => [name, `${type} ${labels.join(" ")}`.trim()] as const
      )
      assert.isAbove(exposed.length, 20)
      assert.deepStrictEqual(Object.fromEntries(exposed), Object.fromEntries(documented()))
    })
  )

  it.live("count what was done, by route and by what was decided", () =>
    Effect.gen(function* () {
      const { text } = yield* livedOnce
      const { sampleOf } = samplesByName(text)
      const propose = { route: "/v1/mandates/{mandate_id}/authorizations", method: "POST" }
      assert.strictEqual(sampleOf("svc_http_requests_total", { ...propose, status: "201" }), 3)
      assert.strictEqual(sampleOf("svc_http_request_duration_seconds_count", propose), 3)
      assert.strictEqual(
        sampleOf("svc_http_requests_total", { route: "unmatched", method: "GET", status: "404" }),
        1
      )
      assert.strictEqual(
        sampleOf("svc_http_requests_total", { route: "/v1/mandates", method: "PATCH", status: "405" }),
        1
      )
      assert.strictEqual(sampleOf("svc_http_problems_total", { code: "not_found" }), 1)
      assert.strictEqual(sampleOf("svc_http_requests_in_flight", {}), 0)
      assert.strictEqual(sampleOf("svc_decisions_total", { decision: "ALLOW" }), 2)
      assert.strictEqual(
        sampleOf("svc_decision_reasons_total", { decision: "DENY", reason: "AMOUNT_ABOVE_MAXIMUM" }),
        1
      )
      assert.strictEqual(sampleOf("svc_reservations_total", { step: "opened" }), 2)
      assert.strictEqual(sampleOf("svc_reservations_total", { step: "committed" }), 1)
      assert.strictEqual(sampleOf("svc_reservations_total", { step: "cancelled" }), 1)
      assert.strictEqual(sampleOf("svc_identity_assertions_total", { result: "ok" }), 1)
      assert.strictEqual(sampleOf("svc_signatures_total", { result: "ok" }), 1)
      const append = { port: "MandateStore", operation: "append" }
      const appends = sampleOf("svc_store_operations_total", { ...append, result: "ok" }) ?? 0
      assert.isAbove(appends, 5)
      assert.strictEqual(sampleOf("svc_store_operation_duration_seconds_count", append), appends)
      assert.strictEqual(sampleOf("svc_store_append_batch_changes_count", {}), appends)
      assert.isAtLeast(sampleOf("svc_signing_key_age_seconds", {}) ?? -1, 0)
      assert.strictEqual(sampleOf("svc_webhook_endpoints_disabled", {}), 0)
    })
  )

  it.live("name no organization, mandate, authorization, subject or key", () =>
    Effect.gen(function* () {
      const { names, text } = yield* livedOnce
      for (const name of names) assert.notInclude(text, name)
      assert.notMatch(text, /(?:org|mnd|aut|key|aps|evt|dlv|whe)_[0-9a-z]{20}/u)
      assert.notMatch(text, /[0-9a-zA-Z_-]{32}"/u)
    })
  )
})

describe("metrics of keys in a key management service", () => {
  it.live("count its calls by what was asked for and what became of it, and name no key", () =>
    Effect.gen(function* () {
      const aws = yield* awsKmsInEnvironment
      const held = aws.addKey()
      const store = { pglite: yield* preparedPglite }
      const sealer = SecretSealerNodeCrypto.layer({ current: Redacted.make(new Uint8Array(32).fill(7)) })
      yield* Effect.gen(function* () {
        const { rotate } = yield* SigningKeyRecords
        yield* rotate(yield* makeManagedSigningKey(`aws-kms:${held.arn}`), "now")
      }).pipe(
        Effect.provide(KeyManagementOnDemand.layer),
        Effect.provide(sealer),
        Effect.provide(StoreLayer.storageLayer(store, { migrations: "require" })),
        Effect.scoped
      )
      const metering = makeMetering()
      const { current } = yield* Effect.map(
        Layer.build(
          StoreLayer.layer(store, { migrations: "require" }).pipe(
            Layer.provide(sealer),
            Layer.provide(metering.observers)
          )
        ),
        (ports) => Context.get(ports, Signer)
      )
      aws.always = { status: 400, type: "AccessDeniedException" }
      const { begin } = yield* current
      for (let request = 0; request < 3; request++) yield* Effect.flip(begin().signature)
      const text = metering.families.exposition()
      const { sampleOf } = samplesByName(text)
      const counted = (result: string) => sampleOf("svc_kms_calls_total", { operation: "sign", result })
      // The trial at the start; then once, since a key that was refused is left alone for a while.
      assert.deepStrictEqual(
        [counted("ok"), counted("key_management_refused"), counted("key_management_unavailable")],
        [1, 1, 0]
      )
      assert.strictEqual(sampleOf("svc_kms_call_duration_seconds_count", { operation: "sign" }), 2)
      assert.notInclude(text, held.arn)
    }).pipe(Effect.scoped)
  )
})

describe("GET /metrics", () => {
  const listening = Effect.gen(function* () {
    const metering = makeMetering()
    const built = yield* Layer.build(metricsListener({ port: 0, host: "127.0.0.1" }, metering.families))
    const { address } = Context.get(built, HttpServer.HttpServer)
    if (!("port" in address)) return yield* Effect.die(new Error("it listens on no port"))
    const { port } = address
    const send = (method: string, path: string) =>
      Effect.promise(() => ask(port, [`${method} ${path} HTTP/1.1`, "host: metrics.example"]))
    return { send }
  })

  it.live("shows the metrics in Prometheus' text format, itself uncounted", () =>
    Effect.gen(function* () {
      const { send } = yield* listening
      yield* send("GET", "/metrics")
      const answer = yield* send("GET", "/metrics")
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers["content-type"], PROMETHEUS_MEDIA_TYPE)
      const { sampleOf } = samplesByName(answer.body)
      assert.strictEqual(sampleOf("svc_build_info", { version: "0.1.0" }), 1)
      assert.strictEqual(sampleOf("svc_http_requests_in_flight", {}), 0)
      assert.notInclude(answer.body, "/metrics")
    })
  )

  it.live("is the only thing on its port", () =>
    Effect.gen(function* () {
      const { send } = yield* listening
      const head = yield* send("HEAD", "/metrics")
      assert.deepStrictEqual([head.status, head.body], [200, ""])
      const post = yield* send("POST", "/metrics")
      assert.deepStrictEqual([post.status, post.headers.allow], [405, "GET, HEAD"])
      for (const path of ["/", "/healthz", "/v1/mandates", "/docs", "/metrics/"]) {
        assert.strictEqual((yield* send("GET", path)).status, 404, path)
      }
    })
  )

  it.live("is on no port of the service", () =>
    Effect.gen(function* () {
      const service = yield* startService({ instruments: makeMetering() })
      for (const port of [service.apiPort, service.approvalPort]) {
        const answer = yield* Effect.promise(() => ask(port, ["GET /metrics HTTP/1.1", "host: a.example"]))
        assert.strictEqual(answer.status, 404)
      }
    })
  )
})
