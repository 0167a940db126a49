import type { ProblemCode } from "@svc/client"

/** A request that the API refuses, and how. */
export interface HostileRequest {
  /** What is wrong with it, in words. */
  readonly wrong: string
  /** Makes it anew: a request can be sent once. */
  readonly request: () => Request
  readonly status: number
  readonly code: ProblemCode
}

/** One byte more than a body may have. */
const TOO_MANY_BYTES = 64 * 1024 + 1

/** A well-formed identifier that no mandate has. */
const NO_MANDATE = `mnd_${"0".repeat(26)}`

/** How a request differs from one that is right but for its body. */
interface Difference {
  readonly method?: string
  readonly path?: string
  /** `undefined` leaves a header out. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: BodyInit
}

type Row = readonly [wrong: string, status: number, code: ProblemCode, difference: Difference]

const read = (path: string, headers: Difference["headers"] = {}): Difference => ({
  method: "GET",
  path,
  headers
})

const ROWS: ReadonlyArray<Row> = [
  ["no key", 401, "authentication_required", { headers: { authorization: undefined } }],
  ["another scheme", 401, "authentication_required", { headers: { authorization: "Basic c3ZjOg==" } }],
  [
    "a key that there is not",
    401,
    "api_key_invalid",
    { headers: { authorization: `Bearer svc_test_${"A".repeat(43)}` } }
  ],
  [
    "a key of the other environment",
    401,
    "api_key_invalid",
    { headers: { authorization: `Bearer svc_live_${"A".repeat(43)}` } }
  ],
  ["a route that there is not", 404, "not_found", read("/v1/mandate")],
  ["a slash at the end", 404, "not_found", read("/v1/mandates/")],
  ["a name of nothing", 404, "not_found", read(`/v1/mandates/${NO_MANDATE}`)],
  ["a name with an encoded slash", 404, "not_found", read("/v1/mandates/mnd_%2F..%2Fx")],
  ["a method that there is not", 405, "method_not_allowed", { method: "PATCH", body: "{}" }],
  ["a query that there is not", 400, "malformed_request", read("/v1/mandates?order=asc")],
  ["a parameter twice", 400, "malformed_request", read("/v1/mandates?limit=1&limit=2")],
  ["a cursor of nothing", 400, "invalid_cursor", read("/v1/mandates?cursor=AAAA")],
  ["pages are asked for", 406, "not_acceptable", read("/v1/mandates", { accept: "text/html" })],
  [
    "a form",
    415,
    "unsupported_media_type",
    { headers: { "content-type": "application/x-www-form-urlencoded" } }
  ],
  ["compressed JSON", 415, "unsupported_media_type", { headers: { "content-encoding": "gzip" } }],
  ["64 KiB and a byte", 413, "payload_too_large", { body: " ".repeat(TOO_MANY_BYTES) }],
  ["no idempotency key", 400, "idempotency_key_required", { headers: { "idempotency-key": undefined } }],
  [
    "an idempotency key of two words",
    400,
    "idempotency_key_invalid",
    { headers: { "idempotency-key": "two words" } }
  ],
  ["no JSON", 400, "malformed_json", { body: "{'kind':1}" }],
  ["a member twice", 400, "malformed_json", { body: '{"kind":"SINGLE","k\\u0069nd":"RECURRING"}' }],
  ["a number beyond 2^53", 400, "malformed_json", { body: '{"kind":9007199254740993}' }],
  ["a byte order mark", 400, "malformed_json", { body: "\ufeff{}" }],
  ["33 levels", 400, "malformed_json", { body: "[".repeat(33) + "]".repeat(33) }],
  ["half a character", 422, "validation_failed", { body: '{"kind":"\\ud800"}' }],
  ["a list for a body", 422, "validation_failed", { body: "[]" }],
  ["a member that there is not", 422, "validation_failed", { body: '{"__proto__":{"admin":true}}' }]
]

/**
 * Requests that the API refuses whatever there is, with the problem that it answers each with: for whoever has an
 * authentication, a proxy or a framework of their own in front of it, which must let them through as they are, or refuse them
 * in its own way on purpose. None of them changes anything.
 *
 * @example
 * ```ts
 * import { hostileRequests, testService } from "svc/testkit"
 *
 * const service = await testService({ webhooks: false })
 * const { key: apiKey } = await service.createApiKey(service.organization)
 * for (const { code, request, wrong } of hostileRequests({ url: "http://localhost:3000/mandates", apiKey })) {
 *   const problem = await (await service.fetch(request())).json()
 *   if (problem.code !== code) throw new Error(`${wrong}: ${problem.code}`)
 * }
 * await service.close()
 * ```
 */
export const hostileRequests = ({
  apiKey,
  url
}: {
  /** Base URL of the API. */
  readonly url: string
  /** Key of an organization, with all scopes. */
  readonly apiKey: string
}): ReadonlyArray<HostileRequest> =>
  ROWS.map(
    ([wrong, status, code, { body = "{}", headers = {}, method = "POST", path = "/v1/mandates" }]) => ({
      wrong,
      status,
      code,
      request: () => {
        const sent = {
          authorization: `Bearer ${apiKey}`,
          ...(method === "GET" ? {} : { "content-type": "application/json", "idempotency-key": "hostile" }),
          ...headers
        }
        return new Request(url.replace(/\/$/u, "") + path, {
          method,
          headers: Object.entries(sent).filter(
            (header): header is [string, string] => header[1] !== undefined
          ),
          ...(method === "GET" ? {} : { body })
        })
      }
    })
  )
