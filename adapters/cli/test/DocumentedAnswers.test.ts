import { assert, describe, it } from "@effect/vitest"
import { assertDocumented, checkedAnswers, documentedSuccesses } from "@svc/http-server/test/DocumentedAnswer"
import { Effect, Layer } from "effect"
import { bodyOf, startService } from "./ServiceUnderTest.ts"

const GOOD = {
  status: 200,
  headers: {
    "content-type": "application/json",
    "x-request-id": "0b5c1a52-9d3f-4b1e-8a77-3f1c2d4e5f60",
    "cache-control": "no-store"
  },
  body: '{"status":"ok"}'
}

describe("the check of answers against the OpenAPI document", () => {
  it("rejects an answer that the document does not describe", () => {
    assertDocumented("GET", "/healthz", GOOD)
    const bad = [
      { ...GOOD, status: 201 },
      { ...GOOD, body: '{"status":"fine"}' },
      { ...GOOD, body: "{}" },
      { ...GOOD, headers: { ...GOOD.headers, "x-request-id": "1" } },
      { ...GOOD, headers: { ...GOOD.headers, location: "/x" } },
      { ...GOOD, headers: { ...GOOD.headers, "content-type": "text/plain" } }
    ]
    for (const answer of bad) assert.throws(() => assertDocumented("GET", "/healthz", answer))
    assert.throws(() => assertDocumented("POST", "/healthz", GOOD))
  })

  it.live("covers every operation with each of its success statuses", () =>
    Effect.gen(function* () {
      const { tenant } = yield* startService({ working: Layer.empty })
      const { get, send, write } = tenant
      const read = (path: string) => send({ path })
      yield* read("/healthz")
      yield* read("/readyz")
      const { headers } = yield* read("/.well-known/jwks.json")
      yield* send({ path: "/.well-known/jwks.json", headers: { "if-none-match": headers.etag ?? "" } })
      const mandate = yield* tenant.activeMandate({
        kind: "RECURRING",
        policy: {
          currency: "EUR",
          max_amount: 5000,
          allowed_actions: ["card.create"],
          periods: [{ unit: "MONTH", max_amount: 20000 }]
        }
      })
      const path = `/v1/mandates/${mandate.id}`
      for (const of of ["", "/periods", "/events", "/evidence", "/authorizations"]) yield* read(path + of)
      yield* read("/v1/mandates?limit=1")
      yield* read("/v1/events?limit=5")
      const committed = yield* tenant.propose(mandate.id)
      yield* tenant.commit(committed)
      yield* read(`/v1/authorizations/${committed.id}`)
      yield* write("POST", `/v1/authorizations/${committed.id}/refunds`, {
        amount: 1,
        currency: "EUR",
        provider_refund_reference: "r",
        reported_refunded_at: "2026-01-01T00:00:00Z"
      })
      yield* tenant.cancel((yield* tenant.propose(mandate.id)).id)
      yield* tenant.propose(mandate.id, 5001)
      yield* write("PUT", `${path}/revocation`, { reason: "over" })
      const passkeys = `/v1/subjects/${mandate.subject_reference}/passkeys`
      const [passkey] = (yield* get(passkeys)).data
      yield* send({ method: "DELETE", path: `${passkeys}/${passkey.id}` })
      const url = "http://localhost:65535/webhooks"
      const endpoint = bodyOf(yield* write("POST", "/v1/webhook-endpoints", { url }), 201)
      const at = `/v1/webhook-endpoints/${endpoint.id}`
      yield* read("/v1/webhook-endpoints")
      yield* read(at)
      yield* send({ method: "PUT", path: `${at}/reactivation` })
      yield* send({ method: "PUT", path: `${at}/secret` })
      yield* send({ method: "POST", path: `${at}/test` })
      const ended = Effect.gen(function* () {
        const [delivery] = (yield* get(`${at}/deliveries`)).data
        return delivery.state === "exhausted" ? delivery : yield* Effect.fail("pending")
      })
      const delivery = yield* Effect.retry(ended, {
        times: 1200,
        while: () => Effect.as(Effect.sleep("50 millis"), true)
      })
      yield* send({ method: "POST", path: `${at}/deliveries/${delivery.id}/redelivery` })
      yield* send({ method: "DELETE", path: at })
      assert.deepStrictEqual(
        documentedSuccesses.filter((one) => !checkedAnswers().has(one)),
        []
      )
    })
  )
})
