import { Api } from "@svc/protocol/api/Api"
import { PROBLEM_CODES, problemPath } from "@svc/protocol/Problem"
import { Effect, Redacted } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { OpenApi } from "effect/http-api"
import { refuseParameters, requireAcceptable } from "../gate/RequestSteps.ts"
import { basePathOf } from "../http/BasePath.ts"
import { matchesTag } from "../http/EntityTag.ts"
import { type HttpRoute, httpRoute } from "../http/HttpRoute.ts"
import type { Refused } from "../http/ProblemResponse.ts"
import {
  acceptedEncoding,
  type EncodedContent,
  type EncodedDocument,
  encodedContent
} from "./EncodedContent.ts"
import { problemPage } from "./ProblemPages.ts"
import { FAVICON, REFERENCE_ASSETS, type ReferenceAsset } from "./ReferenceAssets.ts"
import { referencePage } from "./ReferencePage.ts"
import type { SampleOrganizationFacts } from "./SampleOrganization.ts"

const HTML = "text/html; charset=utf-8"
const DOCS_PATH = "/docs"
const OPENAPI_PATH = "/openapi.json"

/** Documents change with releases alone. */
const CACHE_CONTROL = "public, max-age=3600"
/** Shorter, since the reference names its files by their content hash. */
const DOCS_CACHE_CONTROL = "public, max-age=300"
/** The name changes with the content, so a copy may be cached for a year, the conventional maximum. */
const ASSET_CACHE_CONTROL = "public, max-age=31536000, immutable"
/** For a page with an API key in it. */
const PRIVATE_CACHE_CONTROL = "private, no-store"

const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

type Request = HttpServerRequest.HttpServerRequest
type Headers = Readonly<Record<string, string>>

const admit = (request: Request, mediaType: string): Effect.Effect<void, Refused> =>
  Effect.andThen(refuseParameters(request), requireAcceptable(request, mediaType))

/** The document, or 304 if the client has it. */
const respond = (
  request: Request,
  { bytes, encoding, etag }: EncodedDocument,
  contentType: string,
  given: Headers
): HttpServerResponse.HttpServerResponse => {
  const headers = { ...given, etag, vary: "Accept-Encoding" }
  if (matchesTag(request.headers["if-none-match"], etag)) {
    return HttpServerResponse.empty({ status: 304, headers })
  }
  const encoded = encoding === "identity" ? headers : { ...headers, "content-encoding": encoding }
  return HttpServerResponse.uint8Array(bytes, { contentType, headers: encoded })
}

interface ServedDocument {
  readonly content: EncodedContent
  readonly headers: Headers
}

const documentRoute = (
  path: `/${string}`,
  contentType: string,
  serve: (request: Request) => ServedDocument
) => {
  const mediaType = contentType.split(";")[0]!
  return httpRoute(
    "GET",
    path,
    Effect.fnUntraced(function* ({ request }) {
      yield* admit(request, mediaType)
      const { content, headers } = serve(request)
      const encoding = acceptedEncoding(request.headers["accept-encoding"])
      const document = yield* Effect.promise(() => content(encoding))
      return respond(request, document, contentType, headers)
    })
  )
}

/** A route whose document is the same for every request. */
const fixedRoute = (
  path: `/${string}`,
  contentType: string,
  make: () => string | Buffer,
  headers: Headers
) => {
  const content = encodedContent(make)
  return documentRoute(path, contentType, () => ({ content, headers }))
}

const assetRoute = ({ bytes, contentType, path }: ReferenceAsset, cacheControl: string) =>
  fixedRoute(path, contentType, () => bytes, { "cache-control": cacheControl })

/** Prevents DNS rebinding: a site whose host name resolves to this server must not get the API key. */
const hasOwnHost = (request: Request, baseUrl: string): boolean =>
  request.headers.host === new URL(baseUrl).host

const docsRoute = (baseUrl: string, organization: SampleOrganizationFacts | undefined) => {
  const development = organization && { returnOrigin: organization.returnOrigin }
  const pageWith = (apiKey: string | undefined) => () =>
    referencePage(JSON.parse(openApiText(baseUrl)), { baseUrl, apiKey, development })
  const headers = { "content-security-policy": DOCS_POLICY, "cache-control": DOCS_CACHE_CONTROL }
  const shared: ServedDocument = { content: encodedContent(pageWith(undefined)), headers }
  if (organization === undefined) return documentRoute(DOCS_PATH, HTML, () => shared)
  const own: ServedDocument = {
    content: encodedContent(pageWith(Redacted.value(organization.apiKey))),
    headers: { ...headers, "cache-control": PRIVATE_CACHE_CONTROL }
  }
  const withoutKey = { ...shared, headers: own.headers }
  return documentRoute(DOCS_PATH, HTML, (request) => (hasOwnHost(request, baseUrl) ? own : withoutKey))
}

/** The base URL leads to the reference. */
const rootRoute = (baseUrl: string) =>
  httpRoute("GET", "/", ({ request }) =>
    Effect.map(admit(request, "text/html"), () =>
      HttpServerResponse.redirect(basePathOf(baseUrl) + DOCS_PATH, { status: 302 })
    )
  )

const documentedApi = (baseUrl: string) => Api.annotate(OpenApi.Servers, [{ url: baseUrl }])

/** The OpenAPI document (part 9). */
export const openApiText = (baseUrl: string): string =>
  JSON.stringify(OpenApi.fromApi(documentedApi(baseUrl)))

/** The routes of the OpenAPI document and the reference (part 9). */
export const documentRoutes = (
  baseUrl: string,
  organization: SampleOrganizationFacts | undefined
): ReadonlyArray<HttpRoute<never>> => [
  rootRoute(baseUrl),
  docsRoute(baseUrl, organization),
  fixedRoute(OPENAPI_PATH, "application/json", () => openApiText(baseUrl), {
    "cache-control": CACHE_CONTROL
  }),
  ...REFERENCE_ASSETS.map((asset) => assetRoute(asset, ASSET_CACHE_CONTROL)),
  assetRoute(FAVICON, CACHE_CONTROL)
]

/** The pages of problems (part 2). */
export const problemRoutes = (baseUrl: string): ReadonlyArray<HttpRoute<never>> =>
  PROBLEM_CODES.map((code) =>
    fixedRoute(problemPath(code) as `/${string}`, HTML, () => problemPage(code, baseUrl), {
      "content-security-policy": PAGE_POLICY,
      "cache-control": CACHE_CONTROL
    })
  )
