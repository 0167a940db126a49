import { MandateStore } from "@svc/domain/ports/MandateStore"
import { httpListener } from "@svc/http-server/http/HttpListener"
import { refusing } from "@svc/http-server/http/RefusalProblem"
import { makeRouteTable, type Route } from "@svc/http-server/http/RouteTable"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { RETURN_PAGE_HEADERS, returnPage } from "./ReturnPage.ts"

/** An organization of the development server, and how its user gets its key. */
export interface ReturningOrganization {
  readonly id: string
  readonly apiKeyCommand: string
}

export interface ReturnListenerOptions {
  /** The port to listen on, unless it is taken: then the system chooses one. */
  readonly port: number
  readonly host: string
  readonly baseUrl: string
  readonly organizations: readonly [ReturningOrganization, ...ReadonlyArray<ReturningOrganization>]
}

/** Whatever path a `return_url` has. */
const ANY_PATH = "/*"
const ROUTES: ReadonlyArray<Route> = [
  { method: "GET", path: "/" },
  { method: "GET", path: ANY_PATH }
]

/** The mandate of a session, and the organization that has it. */
const findMandate = Effect.fnUntraced(function* (
  organizations: ReturnListenerOptions["organizations"],
  approvalSession: string | undefined
) {
  const store = yield* MandateStore
  if (approvalSession !== undefined) {
    for (const organization of organizations) {
      const { stream } = yield* store.load({ organization: organization.id, stream: { approvalSession } })
      if (stream !== undefined) return { organization, mandateId: stream.state.mandate.terms.mandate_id }
    }
  }
  return { organization: organizations[0], mandateId: undefined }
})

const page = (options: ReturnListenerOptions) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const query = new URLSearchParams(request.url.split("?")[1] ?? "")
    const approvalSessionId = query.get("approval_session_id") ?? undefined
    const { mandateId, organization } = yield* refusing(findMandate(options.organizations, approvalSessionId))
    const text = returnPage({
      returnState: query.get("return_state") ?? undefined,
      approvalSessionId,
      mandateId,
      baseUrl: options.baseUrl,
      apiKeyCommand: organization.apiKeyCommand
    })
    return HttpServerResponse.text(text, { contentType: "text/html; charset=utf-8" })
  })

/** The port that the return page is on. */
export class ReturnPort extends Context.Service<ReturnPort, number>()("@svc/cli/ReturnPort") {}

/**
 * The listener of the return origin in development: it stands in for the caller's application and says what that does next.
 * The layer gives nothing but its port, for a listener's router would become that of the listeners built upon it.
 */
export const returnListener = (options: ReturnListenerOptions) => {
  const routes = HttpRouter.addAll([HttpRouter.route("GET", ANY_PATH, page(options))])
  const listener = (port: number) =>
    httpListener(routes, {
      port,
      host: options.host,
      baseUrl: options.baseUrl,
      routes: makeRouteTable(ROUTES),
      headers: RETURN_PAGE_HEADERS
    })
  const portOf = Effect.map(HttpServer.HttpServer, ({ address }) =>
    address._tag === "UnixPathAddress" ? options.port : address.port
  )
  return Layer.effect(ReturnPort, portOf).pipe(
    Layer.provide(Layer.catchTag(listener(options.port), "ServeError", () => listener(0)))
  )
}
