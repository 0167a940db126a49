import { Api } from "@svc/protocol/api/Api"
import { PROBLEM_CODES, problemPath } from "@svc/protocol/Problem"
import { Effect, Layer, Scope } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { keptResponse } from "../KeptResponse.ts"
import { Refused } from "../ProblemResponse.ts"
import type { Route } from "../RouteTable.ts"
import { accepts } from "./Acceptance.ts"
import { entityTag, namesTag } from "./EntityTag.ts"
import { problemPage } from "./ProblemPages.ts"
import { parseQuery } from "./QueryString.ts"

const HTML = "text/html; charset=utf-8"
const DOCS_PATH = "/docs"
const OPENAPI_PATH = "/openapi.json"

/** Documents change with a release only, so they may be kept for an hour. */
const CACHE_CONTROL = "public, max-age=3600"

const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

/** The reference is one page with its script inside; it may load nothing from anywhere else. */
const DOCS_POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src blob:; base-uri 'none'; frame-ancestors 'none'"

type Response = HttpServerResponse.HttpServerResponse

/** What a document's request must be: without a query, and accepting the document's type (parts 1 and 2). */
const admit = (
  request: HttpServerRequest.HttpServerRequest,
  mediaType: string
): Effect.Effect<void, Refused> => {
  const query = parseQuery(request.url)
  if (query === undefined || Object.keys(query).length > 0) {
    return Effect.fail(new Refused({ code: "malformed_request", detail: "This route takes no query." }))
  }
  return accepts(request.headers.accept, mediaType)
    ? Effect.void
    : Effect.fail(new Refused({ code: "not_acceptable" }))
}

/** The document, or 304 for whoever has it. */
const unlessKnown = (
  request: HttpServerRequest.HttpServerRequest,
  document: Response,
  headers: Readonly<Record<string, string>>
): Response =>
  namesTag(request.headers["if-none-match"], headers.etag ?? "")
    ? HttpServerResponse.empty({ status: 304, headers })
    : HttpServerResponse.setHeaders(document, headers)

/** A value that is made when it is first asked for: documents must not hold up the start. */
const once = <A>(make: () => A): (() => A) => {
  let made: { readonly value: A } | undefined
  return () => {
    if (made === undefined) made = { value: make() }
    return made.value
  }
}

const documentRoute = (
  path: `/${string}`,
  write: () => string,
  contentType: string,
  more: Readonly<Record<string, string>> = {}
) => {
  const written = once(() => {
    const text = write()
    return {
      document: keptResponse(text, { contentType }),
      headers: { ...more, "cache-control": CACHE_CONTROL, etag: entityTag(text) }
    }
  })
  const mediaType = contentType.split(";")[0]!
  return HttpRouter.route("GET", path, (request: HttpServerRequest.HttpServerRequest) =>
    Effect.map(admit(request, mediaType), () => {
      const { document, headers } = written()
      return unlessKnown(request, document, headers)
    })
  )
}

/** The reference page is several megabytes, so it is made and tagged once, when it is first asked for. */
const docsRoute = (baseUrl: string) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const page = yield* Effect.cached(
        Effect.gen(function* () {
          const app = yield* HttpRouter.toHttpEffect(
            HttpApiScalar.layer(documentedApi(baseUrl), {
              path: DOCS_PATH,
              scalar: { hideTestRequestButton: true, withDefaultFonts: false }
            })
          )
          const shown = yield* app
          const text = shown.body._tag === "Uint8Array" ? new TextDecoder().decode(shown.body.body) : ""
          const document = keptResponse(text, { contentType: HTML })
          return { document, headers: docsHeaders(document) }
        }).pipe(Effect.provideService(Scope.Scope, scope))
      )
      return HttpRouter.add("GET", DOCS_PATH, (request: HttpServerRequest.HttpServerRequest) =>
        Effect.gen(function* () {
          yield* admit(request, "text/html")
          const { document, headers } = yield* Effect.orDie(page)
          return unlessKnown(request, document, headers)
        })
      )
    })
  )

const docsHeaders = (document: Response): Readonly<Record<string, string>> => ({
  "cache-control": CACHE_CONTROL,
  "content-security-policy": DOCS_POLICY,
  ...(document.body._tag === "Uint8Array"
    ? { etag: entityTag(new TextDecoder().decode(document.body.body)) }
    : {})
})

const documentedApi = (baseUrl: string) => Api.annotate(OpenApi.Servers, [{ url: baseUrl }])

/** The OpenAPI document as it is served (part 9). */
export const openApiText = (baseUrl: string): string =>
  JSON.stringify(OpenApi.fromApi(documentedApi(baseUrl)))

/** The interface in words: the OpenAPI document, the reference, and a page per problem (parts 2 and 9). */
export const documentRoutes = (baseUrl: string) => {
  const pages = PROBLEM_CODES.map((code) =>
    documentRoute(problemPath(code) as `/${string}`, () => problemPage(code, baseUrl), HTML, {
      "content-security-policy": PAGE_POLICY
    })
  )
  const openApi = documentRoute(OPENAPI_PATH, () => openApiText(baseUrl), "application/json")
  return Layer.merge(HttpRouter.addAll([openApi, ...pages]), docsRoute(baseUrl))
}

/** The routes of the documents, for the listener's table. */
export const documentPaths: ReadonlyArray<Route> = [
  OPENAPI_PATH,
  DOCS_PATH,
  ...PROBLEM_CODES.map(problemPath)
].map((path) => ({
  method: "GET",
  path: path as `/${string}`
}))
