import { MandateStore } from "@svc/domain/ports/MandateStore"
import { httpListener } from "@svc/http-server/http/HttpListener"
import { httpRoute, type RoutedRequest } from "@svc/http-server/http/HttpRoute"
import { refusing } from "@svc/http-server/http/ProblemResponse"
import { Context, Effect, Layer } from "effect"
import { HttpServer, HttpServerResponse } from "effect/http"
import { RETURN_PAGE_HEADERS, returnPage } from "./ReturnPage.ts"

/** An organization of the development server, and the shell command that prints its API key. */
export interface ReturningOrganization {
  readonly id: string
  readonly apiKeyCommand: string
}

export interface ReturnListenerOptions {
  /** Preferred port; if it is in use, the operating system chooses another. */
  readonly port: number
  readonly host: string
  readonly baseUrl: string
  readonly organizations: readonly [ReturningOrganization, ...ReadonlyArray<ReturningOrganization>]
}

/** A `return_url` may have any path. */
const ANY_PATH = "/*"

/** The mandate of an approval session, and its organization. */
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
  Effect.fnUntraced(function* ({ request }: RoutedRequest) {
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

/** The port that the return page listens on. */
export class ReturnPort extends Context.Service<ReturnPort, number>()("@svc/cli/dev/ReturnPort") {}

/**
 * The listener of the return origin in development, which stands in for the caller's application and shows its next steps.
 * The layer provides the port alone, since a listener built on top of it would otherwise share its `HttpServer`.
 */
export const returnListener = (options: ReturnListenerOptions) => {
  const show = page(options)
  const routes = [httpRoute("GET", "/", show), httpRoute("GET", ANY_PATH, show)]
  const listener = (port: number) =>
    httpListener(routes, {
      port,
      host: options.host,
      baseUrl: options.baseUrl,
      headers: RETURN_PAGE_HEADERS
    })
  const portOf = Effect.map(HttpServer.HttpServer, ({ address }) =>
    address._tag === "UnixPathAddress" ? options.port : address.port
  )
  return Layer.effect(ReturnPort, portOf).pipe(
    Layer.provide(Layer.catchTag(listener(options.port), "ServeError", () => listener(0)))
  )
}
