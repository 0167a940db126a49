import { assert, describe, it } from "@effect/vitest"
import { Api } from "@svc/protocol/api/Api"
import { OpenApi } from "effect/http-api"
import { type Client, createClient, SvcError } from "../src/index.ts"
import { json, optionsOf, type SentRequest } from "./ScriptedFetch.ts"

interface DocumentedOperation {
  readonly operationId: string
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly in: string }>
  readonly requestBody?: { readonly required?: boolean }
  readonly responses: Readonly<Record<string, unknown>>
}

interface Route extends DocumentedOperation {
  readonly method: string
  readonly path: string
  readonly status: number
}

const METHODS = ["get", "post", "put", "delete"]

const routes: ReadonlyArray<Route> = Object.entries(OpenApi.fromApi(Api).paths).flatMap(([path, item]) =>
  Object.entries(item as unknown as Record<string, DocumentedOperation>)
    .filter(([method]) => METHODS.includes(method))
    .map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
      status: Number(Object.keys(operation.responses).find((status) => status.startsWith("2")))
    }))
)

const namesIn = (route: Route, place: string): ReadonlyArray<string> =>
  (route.parameters ?? []).filter((parameter) => parameter.in === place).map(({ name }) => name)

const INPUT = { given: "as it is" } as never
const LIST = { limit: 10, cursor: "c" }

/** One call of the client for each operation, with every member that its query may have. */
const CALLS: Readonly<Record<string, (svc: Client) => Promise<unknown>>> = {
  createMandate: (svc) => svc.mandates.create(INPUT),
  getMandate: (svc) => svc.mandates.get("the_mandate"),
  listMandates: (svc) => svc.mandates.list({ ...LIST, state: "ACTIVE", subject_reference: "s" }),
  revokeMandate: (svc) => svc.mandates.revoke("the_mandate", INPUT),
  listMandatePeriods: (svc) =>
    svc.mandates.periods("the_mandate", { from: "2027-01-01T00:00:00Z", limit: 2 }),
  listMandateEvents: (svc) => svc.mandates.events("the_mandate", LIST),
  createApprovalSession: (svc) => svc.mandates.openApproval("the_mandate", INPUT),
  getEvidence: (svc) => svc.mandates.evidence("the_mandate", { afterSeq: 3 }),
  createAuthorization: (svc) =>
    svc.authorizations.propose("the_mandate", { given: "as it is", commitment: "c" } as never),
  listAuthorizations: (svc) => svc.authorizations.list("the_mandate", { ...LIST, state: "RESERVED" }),
  getAuthorization: (svc) => svc.authorizations.get("the_authorization"),
  commitAuthorization: (svc) => svc.authorizations.commit("the_authorization", INPUT),
  cancelAuthorization: (svc) => svc.authorizations.cancel("the_authorization", INPUT),
  reportRefund: (svc) => svc.authorizations.reportRefund("the_authorization", INPUT),
  listEvents: (svc) => svc.events.list({ limit: 10, after: "c" }),
  listPasskeys: (svc) => svc.passkeys.list("the_subject", LIST),
  retirePasskey: (svc) => svc.passkeys.retire("the_subject", "the_passkey"),
  createWebhookEndpoint: (svc) => svc.webhooks.create(INPUT),
  listWebhookEndpoints: (svc) => svc.webhooks.list(LIST),
  getWebhookEndpoint: (svc) => svc.webhooks.get("the_endpoint"),
  deleteWebhookEndpoint: (svc) => svc.webhooks.delete("the_endpoint"),
  reactivateWebhookEndpoint: (svc) => svc.webhooks.reactivate("the_endpoint"),
  rotateWebhookSecret: (svc) => svc.webhooks.rotateSecret("the_endpoint"),
  testWebhookEndpoint: (svc) => svc.webhooks.test("the_endpoint"),
  listWebhookDeliveries: (svc) => svc.webhooks.deliveries("the_endpoint", LIST),
  redeliverWebhook: (svc) => svc.webhooks.redeliver("the_endpoint", "the_delivery"),
  getKeySet: (svc) => svc.keySet()
}

const SEGMENTS: Readonly<Record<string, string>> = {
  mandate_id: "the_mandate",
  authorization_id: "the_authorization",
  subject_reference: "the_subject",
  passkey_id: "the_passkey",
  webhook_endpoint_id: "the_endpoint",
  delivery_id: "the_delivery"
}

const ANSWER = { data: [], has_more: false, next_cursor: null }

/** The one request of a call, and what came of it; every request is answered with this status. */
const requestOf = async (call: (svc: Client) => Promise<unknown>, status = 200) => {
  const sent: Array<SentRequest> = []
  const svc = createClient({
    ...optionsOf(async (url, { body, headers, method = "", signal }) => {
      const parsed = typeof body === "string" ? JSON.parse(body) : undefined
      sent.push({ method, url: new URL(url), headers: new Headers(headers), body: parsed, signal: signal! })
      return status === 204 ? new Response(null, { status }) : json(ANSWER, status)
    }),
    retries: 0
  })
  const result = await call(svc).then(
    (value) => ({ value }),
    (error) => ({ error })
  )
  return { sent, result }
}

describe("the client", () => {
  it("has a call for every operation of the API, but those for who runs it", () => {
    const operations = routes.map(({ operationId }) => operationId)
    assert.sameMembers(operations, [...Object.keys(CALLS), "getHealth", "getReadiness"])
  })

  it.each(routes.filter(({ operationId }) => operationId in CALLS))(
    "makes $operationId as it is documented",
    async (route) => {
      const { result, sent } = await requestOf(CALLS[route.operationId]!, route.status)
      assert.deepStrictEqual(result, { value: route.status === 204 ? undefined : ANSWER })
      assert.lengthOf(sent, 1)
      const { body, headers, method, url } = sent[0]!
      const path = route.path.replaceAll(/\{(\w+)\}/gu, (_, name: string) => SEGMENTS[name] ?? "")
      assert.strictEqual(`${method} ${url.pathname}`, `${route.method} /prefix${path}`)
      assert.sameMembers([...url.searchParams.keys()], [...namesIn(route, "query")])
      assert.strictEqual(headers.has("idempotency-key"), namesIn(route, "header").includes("Idempotency-Key"))
      assert.strictEqual(body !== undefined, route.requestBody?.required === true)
      if (body !== undefined) assert.propertyVal(body, "given", "as it is")
    }
  )

  it("encodes what it puts into a path", async () => {
    const { sent } = await requestOf((svc) => svc.passkeys.retire("a/b?c#d%2F é..", "p k"), 204)
    assert.strictEqual(
      sent[0]?.url.href,
      "https://api.example/prefix/v1/subjects/a%2Fb%3Fc%23d%252F%20%C3%A9../passkeys/p%20k"
    )
  })

  it.each(["", ".", "..", "\ud800", undefined, null, 7])(
    "refuses %j in a path, which would name something else",
    async (segment) => {
      for (const call of [
        (svc: Client) => svc.mandates.get(segment as never),
        (svc: Client) => svc.mandates.events(segment as never),
        (svc: Client) => svc.webhooks.delete(segment as never),
        (svc: Client) => svc.passkeys.list(segment as never)
      ]) {
        const { result, sent } = await requestOf(call)
        assert.instanceOf((result as { error?: unknown }).error, SvcError)
        assert.propertyVal((result as { error: object }).error, "code", "invalid_argument")
        assert.lengthOf(sent, 0)
      }
    }
  )

  it.each([
    "",
    "api.example",
    "ftp://api.example",
    "https://user:secret@api.example",
    "https://api.example/?a=b",
    "https://api.example/#a"
  ])("refuses the base URL %j", (baseUrl) => {
    assert.throws(() => createClient({ baseUrl, apiKey: "k" }), SvcError)
  })

  it("refuses an API key that no header can carry, and takes a base URL with slashes at its end", async () => {
    for (const apiKey of ["", "a b", "a\r\nX: y", "é"]) {
      assert.throws(() => createClient({ baseUrl: "https://api.example", apiKey }), SvcError)
    }
    const seen: Array<string> = []
    const fetch = async (url: string) => {
      seen.push(url)
      return json({ keys: [] })
    }
    await createClient({ baseUrl: "https://api.example/p//", apiKey: "k", fetch }).keySet()
    assert.deepStrictEqual(seen, ["https://api.example/p/.well-known/jwks.json"])
  })
})

describe("a proposal", () => {
  const PROPOSAL = {
    external_reference: "order-1",
    proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
    execution_window_seconds: 900
  }

  it("is not sent before its opening is stored", async () => {
    const order: Array<string> = []
    let stored: { commitment: string; idempotencyKey: string } | undefined
    const svc = createClient(
      optionsOf(async (_, { body, headers }) => {
        order.push("sent")
        const { commitment, ...rest } = JSON.parse(String(body))
        assert.deepStrictEqual(rest, PROPOSAL)
        assert.strictEqual(commitment, stored?.commitment)
        assert.strictEqual(new Headers(headers).get("idempotency-key"), stored?.idempotencyKey)
        return json({ id: "aut_1" }, 201)
      })
    )
    await svc.authorizations.propose("mnd_1", PROPOSAL, {
      storeOpening: async (opening) => {
        order.push("storing")
        await new Promise((resolve) => setTimeout(resolve))
        stored = opening
        order.push("stored")
      }
    })
    assert.deepStrictEqual(order, ["storing", "stored", "sent"])
  })

  it("is not sent at all if its opening cannot be stored, or nobody would store it", async () => {
    const full = new Error("the disk is full")
    const storeOpening = () => Promise.reject(full)
    const failed = await requestOf(
      (svc) => svc.authorizations.propose("mnd_1", PROPOSAL, { storeOpening }),
      201
    )
    assert.deepStrictEqual([failed.result, failed.sent.length], [{ error: full }, 0])
    // @ts-expect-error It has neither a commitment nor somebody to store the opening of a new one.
    const careless = await requestOf((svc) => svc.authorizations.propose("mnd_1", PROPOSAL), 201)
    assert.propertyVal((careless.result as { error: object }).error, "code", "invalid_argument")
    assert.lengthOf(careless.sent, 0)
  })
})
