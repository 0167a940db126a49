import type { Language } from "@svc/domain/approval/StatementLanguage"
import { Deployment } from "@svc/domain/ports/Deployment"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { approveMandate } from "@svc/domain/programs/ceremony/ApproveMandate"
import { beginCeremony } from "@svc/domain/programs/ceremony/BeginCeremony"
import type { Bearer } from "@svc/domain/programs/ceremony/CeremonySession"
import { declineMandate } from "@svc/domain/programs/ceremony/DeclineMandate"
import { openApprovalPage } from "@svc/domain/programs/ceremony/OpenApprovalPage"
import { type ClosedLink, readClosedLink, UNKNOWN_LINK } from "@svc/domain/programs/ceremony/ReadClosedLink"
import { registerPasskey } from "@svc/domain/programs/ceremony/RegisterPasskey"
import type { DomainRefusal } from "@svc/domain/programs/RefusalProblem"
import { PROBLEMS, type ProblemCode } from "@svc/protocol/Problem"
import type { RequestBody } from "@svc/protocol/request/RequestBody"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { basePathOf } from "../http/BasePath.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { httpRoute, type RoutedRequest } from "../http/HttpRoute.ts"
import type { Refused } from "../http/ProblemResponse.ts"
import { problemHeaders, refusing } from "../http/ProblemResponse.ts"
import { sharedResponse } from "../http/SharedResponse.ts"
import { APPROVAL_ASSETS, ASSET_CACHE_CONTROL, ICON_ASSET } from "./ApprovalAssets.ts"
import { approvalCookieHeader } from "./ApprovalCookie.ts"
import {
  type ActionRule,
  approvalCookie,
  approvalGate,
  lookUpToken,
  noteContext,
  pathToken
} from "./ApprovalGate.ts"
import { approvalPage, busyPage, closedPage, homePage, unavailablePage } from "./ApprovalPage.ts"
import { pageLanguage } from "./PageLanguage.ts"

const PAGE_PATH = "/approve/:token"

type Headers = Readonly<Record<string, string>>

const languageOf = ({ request }: RoutedRequest): Language => pageLanguage(request.headers["accept-language"])

const languageHeaders = (language: Language): Headers => ({
  "content-language": language,
  vary: "accept-language"
})

const htmlResponse = (text: string, status = 200, headers: Headers = {}) =>
  HttpServerResponse.text(text, { status, contentType: "text/html; charset=utf-8", headers })

const jsonResponse = (body: object, status = 200, headers: Headers = {}) =>
  HttpServerResponse.text(JSON.stringify(body), { status, contentType: "application/json", headers })

const basePath = Effect.map(Deployment, ({ approvalBaseUrl }) => basePathOf(approvalBaseUrl))

/** A refusal as a page, for people. */
const noticeResponse = Effect.fnUntraced(function* (
  refused: Refused,
  language: Language,
  textOf: (language: Language, basePath: string) => string
) {
  const facts = yield* CurrentRequest
  facts.problem = refused.code
  const headers = { ...languageHeaders(language), ...problemHeaders(refused) }
  return htmlResponse(textOf(language, yield* basePath), PROBLEMS[refused.code].status, headers)
})

/** Browsers ask for HTML; other clients get a problem document. */
const acceptsHtml = ({ request }: RoutedRequest): boolean =>
  request.headers.accept?.includes("text/html") === true

/**
 * Opening the page does not use up the token, since link scanners open links too. A query is ignored, since mail gateways
 * and messengers append their own; the POSTs, which only the page sends, refuse one.
 */
const openPage = Effect.fnUntraced(function* (routed: RoutedRequest) {
  const language = languageOf(routed)
  const opened = yield* lookUpToken(routed.params, (token) => refusing(openApprovalPage({ token, language })))
  yield* noteContext(opened.about)
  const { environment } = yield* Deployment
  const page = approvalPage({ ...opened, environment, language, basePath: yield* basePath })
  return htmlResponse(page, 200, languageHeaders(language))
})

/** Finds out why the link of the request is closed. */
const closedLink = Effect.fnUntraced(function* ({ params, request }: RoutedRequest) {
  const token = pathToken(params)
  if (token === undefined) return UNKNOWN_LINK
  const cookieOf = yield* approvalCookie(request.headers)
  const link = yield* refusing(readClosedLink({ token, cookieOf }))
  if (link.about !== undefined) yield* noteContext(link.about)
  return link
})

/** Whether the browser may have withheld a `SameSite=Strict` cookie, since another site started the navigation. */
const mayHaveWithheldCookie = (link: ClosedLink, { request }: RoutedRequest): boolean =>
  link.isBoundElsewhere && request.headers["sec-fetch-site"] === "cross-site"

/** The pages of transient problems. */
const TRANSIENT_PAGES: { readonly [Code in ProblemCode]?: (language: Language, basePath: string) => string } =
  {
    store_unavailable: unavailablePage,
    rate_limited: busyPage
  }

const page = (routed: RoutedRequest) =>
  openPage(routed).pipe(
    Effect.catch((refused) =>
      Effect.gen(function* () {
        if (refused.code !== "approval_session_closed") return yield* refused
        const link = yield* closedLink(routed)
        const reloads = mayHaveWithheldCookie(link, routed)
        return yield* noticeResponse(refused, languageOf(routed), (language, base) =>
          closedPage(language, link, reloads, base)
        )
      })
    ),
    Effect.catch((refused) => {
      const notice = TRANSIENT_PAGES[refused.code]
      return notice === undefined || !acceptsHtml(routed)
        ? Effect.fail(refused)
        : noticeResponse(refused, languageOf(routed), notice)
    })
  )

const home = (routed: RoutedRequest) => {
  const language = languageOf(routed)
  return Effect.map(basePath, (base) =>
    htmlResponse(homePage(language, base), 200, languageHeaders(language))
  )
}

/** A POST of the page: the gate, then the program, which a disconnecting browser does not interrupt. */
const action = <R>(
  name: string,
  rule: ActionRule,
  run: (
    request: Bearer & { readonly body: RequestBody },
    language: Language
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, DomainRefusal | StoreUnavailable, R>
) =>
  httpRoute(
    "POST",
    `${PAGE_PATH}/${name}`,
    Effect.fnUntraced(function* (routed: RoutedRequest) {
      const { bearer, body } = yield* approvalGate(routed, rule)
      return yield* Effect.uninterruptible(refusing(run({ ...bearer, body }, languageOf(routed))))
    })
  )

const ceremony = action(
  "ceremony",
  { ceremony: true, body: "empty" },
  Effect.fnUntraced(function* ({ token, cookie }, language) {
    const { approvalOrigin } = yield* Deployment
    const { bind, ...step } = yield* beginCeremony({ token, cookie, language })
    const headers: Headers =
      bind === undefined ? {} : { "set-cookie": approvalCookieHeader(bind, approvalOrigin) }
    return jsonResponse(step, 200, headers)
  })
)

const passkey = action("passkey", { ceremony: false, body: "response" }, (request) =>
  Effect.map(registerPasskey(request), (registered) => jsonResponse(registered, 201))
)

const approval = action("approval", { ceremony: false, body: "response" }, (request) =>
  Effect.map(approveMandate(request), (outcome) => jsonResponse(outcome))
)

const decline = action("decline", { ceremony: false, body: "empty" }, (request) =>
  Effect.map(declineMandate(request), (outcome) => jsonResponse(outcome))
)

const fixedRoute = (path: `/${string}`, response: HttpServerResponse.HttpServerResponse) =>
  httpRoute("GET", path, () => Effect.succeed(response))

const assets = APPROVAL_ASSETS.map(({ contentType, path, text }) =>
  fixedRoute(path, sharedResponse(text, { contentType, headers: { "cache-control": ASSET_CACHE_CONTROL } }))
)

/** Browsers request it by themselves for documents that name no icon. */
const ICON_PATH = "/favicon.ico"

const icon = HttpServerResponse.text(ICON_ASSET.text, { contentType: ICON_ASSET.contentType })

/** The routes of the approval origin: the approval page, its four actions, its assets, and the home page (part 6). */
export const approvalRoutes = [
  httpRoute("GET", "/", home),
  fixedRoute(ICON_PATH, icon),
  httpRoute("GET", PAGE_PATH, page),
  ceremony,
  passkey,
  approval,
  decline,
  ...assets
]
