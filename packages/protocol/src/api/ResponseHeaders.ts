/** A response header as the OpenAPI document declares it. */
interface DocumentedHeader {
  readonly description: string
  readonly required?: boolean
  readonly schema: Readonly<Record<string, unknown>>
}

const seconds = { type: "integer", minimum: 0 }

const header = (
  description: string,
  schema: DocumentedHeader["schema"],
  example: string | number,
  required = false
) => ({ description, required, schema: { ...schema, examples: [example] } })

/** Every response header, by its key in `components.headers`. */
export const RESPONSE_HEADERS = {
  RequestId: header(
    "Names this request; give it to support. Also request_id of a problem.",
    { type: "string", format: "uuid" },
    "0b5c1a52-9d3f-4b1e-8a77-3f1c2d4e5f60",
    true
  ),
  Location: header(
    "Absolute address of the resource that was created.",
    { type: "string", format: "uri" },
    "https://api.example/v1/mandates/mnd_01kbcd2e3f4g5h6j7k8m9npqrs",
    true
  ),
  IdempotencyReplayed: header(
    "true when the key was used before with the same input: nothing happened again. Absent otherwise.",
    { type: "string", enum: ["true"] },
    "true"
  ),
  RetryAfter: header("Seconds to wait before another attempt.", seconds, 1, true),
  RateLimit: header(
    "What is left: r requests, and t seconds until the bucket has more. Absent where no limit applies.",
    { type: "string" },
    '"api-key";r=199;t=1'
  ),
  RateLimitPolicy: header(
    "The limit: q requests in w seconds. Absent where no limit applies.",
    { type: "string" },
    '"api-key";q=200;w=2'
  ),
  RateLimitLimit: header("Requests that the bucket holds.", seconds, 200),
  RateLimitRemaining: header("Requests that are left.", seconds, 199),
  RateLimitReset: header("Seconds until the bucket has more.", seconds, 1),
  WWWAuthenticate: header(
    "The scheme of authentication.",
    { type: "string", enum: ["Bearer"] },
    "Bearer",
    true
  ),
  ETag: header(
    "Tag of this representation, for If-None-Match.",
    { type: "string", pattern: '^"[A-Za-z0-9_-]+"$' },
    '"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"',
    true
  ),
  Allow: header(
    "The methods that the path takes, separated by commas.",
    { type: "string", pattern: "^[A-Z]+(, [A-Z]+)*$" },
    "GET, HEAD, POST",
    true
  ),
  CacheControlNoStore: header(
    "Answers are not to be stored.",
    { type: "string", enum: ["no-store"] },
    "no-store",
    true
  ),
  CacheControlPublic: header(
    "The key set may be kept for five minutes.",
    { type: "string", enum: ["public, max-age=300"] },
    "public, max-age=300",
    true
  )
} as const satisfies Record<string, DocumentedHeader>

type HeaderKey = keyof typeof RESPONSE_HEADERS

const WIRE_NAMES: Readonly<Record<HeaderKey, string>> = {
  RequestId: "X-Request-Id",
  Location: "Location",
  IdempotencyReplayed: "Idempotency-Replayed",
  RetryAfter: "Retry-After",
  RateLimit: "RateLimit",
  RateLimitPolicy: "RateLimit-Policy",
  RateLimitLimit: "RateLimit-Limit",
  RateLimitRemaining: "RateLimit-Remaining",
  RateLimitReset: "RateLimit-Reset",
  WWWAuthenticate: "WWW-Authenticate",
  ETag: "ETag",
  Allow: "Allow",
  CacheControlNoStore: "Cache-Control",
  CacheControlPublic: "Cache-Control"
}

/** References to these headers, as the `headers` of a response. */
export const headersNamed = (...keys: ReadonlyArray<HeaderKey>): Readonly<Record<string, object>> =>
  Object.fromEntries(keys.map((key) => [WIRE_NAMES[key], { $ref: `#/components/headers/${key}` }]))

const RATE = [
  "RateLimit",
  "RateLimitPolicy",
  "RateLimitLimit",
  "RateLimitRemaining",
  "RateLimitReset"
] as const satisfies ReadonlyArray<HeaderKey>

/** What decides which headers the success of an operation has. */
export interface SuccessFacts {
  readonly hasApiKey: boolean
  readonly hasIdempotencyKey: boolean
  /** Whether it creates what a GET route reads. */
  readonly hasLocation: boolean
}

export const successHeaders = (facts: SuccessFacts): Readonly<Record<string, object>> =>
  headersNamed(
    "RequestId",
    "CacheControlNoStore",
    ...(facts.hasLocation ? (["Location"] as const) : []),
    ...(facts.hasIdempotencyKey ? (["IdempotencyReplayed"] as const) : []),
    ...(facts.hasApiKey ? RATE : [])
  )

const BY_STATUS: Readonly<Record<number, ReadonlyArray<HeaderKey>>> = {
  401: ["WWWAuthenticate"],
  405: ["Allow"],
  429: ["RetryAfter"],
  503: ["RetryAfter"]
}

export const problemHeaders = (status: number): Readonly<Record<string, object>> =>
  headersNamed("RequestId", "CacheControlNoStore", ...(BY_STATUS[status] ?? []), ...RATE)
