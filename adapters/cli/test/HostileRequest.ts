import { Effect } from "effect"
import * as fc from "fast-check"
import { type HostileBody, hostileBody, renderBody } from "./HostileBody.ts"
import { type FramingName, frame, framingOf, hostileFraming } from "./HostileFraming.ts"
import type { World } from "./HostileWorld.ts"
import { EVERY_ROUTE, type ListedRoute, pathOf } from "./RouteList.ts"
import { APPROVAL_ORIGIN, newKey } from "./ServiceUnderTest.ts"
import type { WireRequest } from "./WireExchange.ts"

const METHODS = [
  ...["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"],
  ...["get", "Post", "FOO", "PROPFIND", "GET/", ""]
]

/** Changes of a path that is right. */
const PATHS = {
  same: (path) => path,
  upperCase: (path) => path.toUpperCase(),
  trailingSlash: (path) => `${path}/`,
  doubledSlash: (path) => path.replace("/", "//"),
  doubledLater: (path) => path.replace(/\/([^/]*)$/u, "//$1"),
  noSlash: (path) => path.slice(1),
  nul: (path) => `${path}%00`,
  encodedSlash: (path) => path.replace(/\/([^/]*)$/u, "%2F$1"),
  slashInside: (path) => `${path}%2F..`,
  badEscape: (path) => `${path}%ZZ`,
  halfEscape: (path) => `${path}%`,
  loneByte: (path) => `${path}%80`,
  overlongSlash: (path) => `${path}%c0%af`,
  surrogate: (path) => `${path}%ED%A0%80`,
  encodedLetters: (path) => path.replace(/[a-z]/u, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  doubleEncoded: (path) => path.replaceAll("%", "%25"),
  dot: (path) => `/.${path}`,
  dots: (path) => `/x/..${path}`,
  dotsAtEnd: (path) => `${path}/..`,
  encodedDots: (path) => `/%2e%2e${path}`,
  semicolon: (path) => `${path};a=b`,
  fragment: (path) => `${path}#a`,
  backslash: (path) => path.replaceAll("/", "\\"),
  space: (path) => `${path} x`,
  tab: (path) => `${path}\tx`,
  rawBytes: (path) => `${path}\u00e9\u0080`,
  control: (path) => `${path}\u0001`,
  overlong: (path) => `${path}/${"a".repeat(5000)}`,
  tooLong: (path) => `${path}/${"a".repeat(17_000)}`,
  manySegments: (path) => `${path}${"/a".repeat(2000)}`,
  absolute: (path) => `http://api.example${path}`,
  absoluteElsewhere: (path) => `https://evil.example${path}`,
  schemeRelative: (path) => `//evil.example${path}`,
  star: () => "*",
  root: () => "/",
  none: () => "",
  elsewhere: () => "/v2/mandates",
  prototype: () => "/__proto__",
  template: (path) => path.replace(/[a-z]{3}_\w+/u, "{mandate_id}"),
  colon: (path) => path.replace(/[a-z]{3}_\w+/u, ":mandate_id")
} satisfies Readonly<Record<string, (path: string) => string>>

type PathName = keyof typeof PATHS

const QUERIES = [
  "?",
  "??",
  "?x=1",
  "?limit=1",
  "?limit=0",
  "?limit=1e1",
  "?limit=1&limit=1",
  "?limit=99999999999999999999",
  "?cursor=",
  "?cursor=x",
  "?cursor=eyJhIjoxfQ",
  "?cursor=__proto__",
  "?after=",
  "?after=x",
  `?cursor=${"A".repeat(4000)}`,
  "?state=ACTIVE",
  "?state=__proto__",
  "?state[]=ACTIVE",
  "?subject_reference=%00",
  "?subject_reference=%ZZ",
  "?from=2026-12-01T00:00:00Z&limit=100",
  "?from=9999-12-31T23:59:59Z",
  "?from=2000-01-01T00:00:00Z",
  "?from=now",
  "?__proto__=1",
  "?constructor[prototype]=1",
  "?%",
  "?%ED%A0%80=1",
  "?=1",
  "?&&",
  "?a#b"
]

/** Header lines beyond those of a right request. */
const LINES = [
  ["Host: evil.example"],
  ["X-Folded: a\r\n b"],
  ["X-Tab:\ta"],
  [`X-Huge: ${"a".repeat(17_000)}`],
  Array.from({ length: 900 }, (_, index) => `X-${index}: a`),
  ["no colon at all"],
  [": no name"],
  ["X Y: space in the name"],
  ["X-Nul: a\u0000b"],
  ["X-Cr: a\rb"],
  ["X-Latin: \u00e9\u00ff"],
  ["X\u00e9: a"],
  ["X-Lf: a\nX-Injected: b"],
  ["Content-Type: text/plain"],
  ["Content-Type: application/json"],
  ["Accept: text/html"],
  ["Accept: application/json;q=0"],
  ["Accept: */*;q=0, application/json"],
  [`Accept: ${"a/b,".repeat(2000)}`],
  ["Accept: ;;;,,,"],
  ["Accept-Encoding: gzip, br"],
  ["Accept-Language: x-klingon, ../../etc/passwd;q=0.5"],
  ["Accept-Language: zzz-aaaaaaaa-bbbbbbbb-cccccccc"],
  ["Expect: 100-continue"],
  ["Expect: 200-ok"],
  ["Upgrade: websocket", "Connection: Upgrade"],
  ["Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "Connection: Upgrade, HTTP2-Settings"],
  ["Connection: close, Host, Authorization"],
  ["X-Request-Id: mine"],
  ["X-HTTP-Method-Override: DELETE"],
  ["X-Forwarded-Host: evil.example", "X-Forwarded-Proto: http", "Forwarded: host=evil.example"],
  ["X-Original-URL: /healthz", "X-Rewrite-URL: /healthz"],
  ["Range: bytes=0-1"],
  ["If-Match: *"],
  ["If-None-Match: *"],
  ['If-None-Match: "', "If-Modified-Since: yesterday"],
  ["TE: trailers"],
  ["Cookie: a=b; __Host-svc_x=y; ="],
  ["Cookie: a", "Cookie: b"],
  ["Origin: null"],
  ["Origin: https://evil.example"],
  ["traceparent: 00-zz-00-01"],
  ["b3: 0"],
  ["Idempotency-Key: second"],
  ["Authorization: Bearer second"],
  ["Proxy-Authorization: Basic eDp5"]
]

const HOSTS = [[], ["Host: "], ["Host: api.example:99999"], ["Host: a", "Host: b"], ["Host: [::1"]]

const VERSIONS = ["HTTP/1.0", "HTTP/1.1 ", "HTTP/2.0", "HTTP/0.9", "http/1.1", "HTTP/11", ""]

type Credentials = keyof World["keys"] | "none" | "basic" | "query" | "cookie" | "huge" | "spaced" | "two"

const CREDENTIALS: ReadonlyArray<Credentials> = [
  ...(["reader", "webhooks", "revoked", "live", "unknown", "other"] as const),
  ...(["none", "basic", "query", "cookie", "huge", "spaced", "two"] as const)
]

const credentialLines = (credentials: Credentials, { keys }: World): ReadonlyArray<string> => {
  switch (credentials) {
    case "none":
    case "query":
      return []
    case "basic":
      return [`Authorization: Basic ${Buffer.from(`${keys.valid}:`).toString("base64")}`]
    case "cookie":
      return [`Cookie: api_key=${keys.valid}`]
    case "huge":
      return [`Authorization: Bearer ${keys.valid}${"A".repeat(9000)}`]
    case "spaced":
      return [`Authorization: Bearer ${keys.valid} ${keys.valid}`]
    case "two":
      return [`Authorization: Bearer ${keys.valid}`, `Authorization: Bearer ${keys.valid}`]
    default:
      return [`Authorization: Bearer ${keys[credentials]}`]
  }
}

const IDEMPOTENCY_KEYS = [
  [],
  [""],
  [" "],
  ["a b"],
  ["used"],
  ["a".repeat(255)],
  ["a".repeat(256)],
  ["\u00e9"],
  ["a\tb"],
  ["a", "a"]
]

/** One request, in terms of how it differs from one that the route takes. */
export interface HostileRequest {
  readonly route: ListedRoute
  readonly method: string | undefined
  readonly version: string
  /** Picks a value for each parameter of the path. */
  readonly values: number
  readonly path: PathName
  readonly query: string
  readonly credentials: Credentials
  /** Who acts on the approval origin: the browser that began, or one that did not. */
  readonly browser: "bound" | "strange" | "none"
  /** `undefined`: a key of its own. */
  readonly idempotencyKeys: ReadonlyArray<string> | undefined
  readonly contentType: string | undefined
  readonly host: ReadonlyArray<string> | undefined
  readonly lines: ReadonlyArray<string>
  readonly body: HostileBody
  /** Whether a body comes where the route takes none. */
  readonly uncalledBody: boolean
  readonly framing: FramingName
  readonly follower: boolean
}

const usually = <A>(usual: A, others: fc.Arbitrary<A>, weight = 10): fc.Arbitrary<A> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others })

const pathNames = Object.keys(PATHS) as ReadonlyArray<PathName>

const routesWhere = (test: (route: ListedRoute) => boolean) => fc.constantFrom(...EVERY_ROUTE.filter(test))

const route: fc.Arbitrary<ListedRoute> = fc.oneof(
  {
    weight: 8,
    arbitrary: routesWhere(
      ({ kind, listener, rule }) => listener === "api" && kind === "resources" && rule.body !== "none"
    )
  },
  {
    weight: 5,
    arbitrary: routesWhere(
      ({ kind, listener, rule }) => listener === "api" && kind === "resources" && rule.body === "none"
    )
  },
  {
    weight: 5,
    arbitrary: routesWhere(({ kind, listener }) => listener === "approval" && kind === "resources")
  },
  { weight: 1, arbitrary: routesWhere(({ kind }) => kind === "documents") }
)

const CONTENT_TYPES = [
  "",
  "application/x+json",
  "application/JSON; Charset=UTF-8",
  "application/json; charset=latin1",
  "application/json, text/plain",
  "application/jsonx",
  "text/plain",
  "multipart/form-data",
  'application/json; charset="utf-8"; boundary=x'
]

export const hostileRequest: fc.Arbitrary<HostileRequest> = fc.record({
  route,
  method: usually<string | undefined>(undefined, fc.constantFrom(...METHODS), 12),
  version: usually("HTTP/1.1", fc.constantFrom(...VERSIONS), 40),
  values: fc.oneof({ weight: 3, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: fc.nat(20) }),
  path: usually<PathName>("same", fc.constantFrom(...pathNames)),
  query: usually("", fc.constantFrom(...QUERIES)),
  credentials: usually<Credentials>("valid", fc.constantFrom(...CREDENTIALS)),
  browser: usually<HostileRequest["browser"]>("bound", fc.constantFrom("strange", "none"), 4),
  idempotencyKeys: usually<ReadonlyArray<string> | undefined>(
    undefined,
    fc.constantFrom(...IDEMPOTENCY_KEYS),
    10
  ),
  contentType: usually<string | undefined>(
    "application/json",
    fc.constantFrom(undefined, ...CONTENT_TYPES),
    12
  ),
  host: usually<ReadonlyArray<string> | undefined>(undefined, fc.constantFrom(...HOSTS), 20),
  lines: usually<ReadonlyArray<string>>([], fc.constantFrom(...LINES), 7),
  body: hostileBody,
  uncalledBody: usually(false, fc.constant(true), 10),
  framing: hostileFraming,
  follower: usually(false, fc.constant(true), 8)
})

/** A request as it is to be sent. */
export interface Rendered {
  readonly wire: WireRequest
  /** Methods of the requests in it, as their sender means them. */
  readonly methods: ReadonlyArray<string>
  /** Two readers could part the bytes differently: one refusal, and the end of the connection. */
  readonly isAmbiguous: boolean
}

const valueFor = (request: HostileRequest, world: World) => (name: string) => {
  const values = world.valuesOf(name)
  return values[request.values % values.length]!
}

const targetOf = (request: HostileRequest, world: World): string => {
  const path = PATHS[request.path](pathOf(request.route.template, valueFor(request, world)))
  return request.credentials === "query" ? `${path}?api_key=${world.keys.valid}` : path + request.query
}

const senderLines = (request: HostileRequest, world: World): ReadonlyArray<string> => {
  if (request.route.listener === "api") return credentialLines(request.credentials, world)
  const origin = [`Origin: ${APPROVAL_ORIGIN}`]
  if (request.browser === "none") return origin
  const cookie = world.cookie()
  return [...origin, `Cookie: ${request.browser === "bound" ? cookie : `${cookie.slice(0, -1)}_`}`]
}

const keyLines = ({ idempotencyKeys, route: { rule } }: HostileRequest): ReadonlyArray<string> => {
  if (idempotencyKeys !== undefined) return idempotencyKeys.map((key) => `Idempotency-Key: ${key}`)
  return rule.idempotencyKey === "none" ? [] : [`Idempotency-Key: ${newKey()}`]
}

/** Node says nothing of a broken body behind a request for an upgrade: its sender is told only when its time is up. */
const framingFor = ({ framing, lines }: HostileRequest): FramingName =>
  lines.some((line) => line.startsWith("Upgrade:")) ? "length" : framing

/** The bytes of a request in the world as it is. */
export const render = Effect.fnUntraced(function* (request: HostileRequest, world: World) {
  const { route: target } = request
  const method = request.method ?? target.method
  const hasBody = target.rule.body !== "none" || request.uncalledBody
  const body = hasBody ? renderBody(yield* world.bodyFor(target), request.body) : undefined
  const type = request.contentType
  const lines = [
    ...(request.host ?? [`Host: ${target.listener}.example`]),
    ...senderLines(request, world),
    ...keyLines(request),
    ...(type === undefined || body === undefined ? [] : [`Content-Type: ${type}`]),
    ...(body?.lines ?? []),
    ...request.lines
  ]
  const start = `${method} ${targetOf(request, world)} ${request.version}`
  const { follower } = request
  const framing = framingFor(request)
  return {
    wire: frame({ start, lines, body: body?.bytes, follower }, framing),
    methods: [method, "GET"],
    isAmbiguous: body !== undefined && framingOf(framing).isAmbiguous === true
  } satisfies Rendered
})
