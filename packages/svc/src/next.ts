import { partsOf, type Service } from "./Service.ts"
import { answerFor } from "./ServiceFetch.ts"

type RouteHandler = (request: Request) => Promise<Response>

/**
 * Route handlers for Next.js, for `app/mandates/[[...path]]/route.ts` where `baseUrl` ends in `/mandates`, and another such
 * file for the path of `approvalUrl`.
 *
 * @example
 * ```ts
 * import { toRouteHandlers } from "svc/next"
 * export const { GET, HEAD, POST, PUT, DELETE } = toRouteHandlers(service)
 * ```
 */
export const toRouteHandlers = (
  service: Service
): Readonly<Record<"GET" | "HEAD" | "POST" | "PUT" | "DELETE", RouteHandler>> => {
  partsOf(service, "toRouteHandlers")
  const answer: RouteHandler = (request) => answerFor(service.fetch, request)
  return { GET: answer, HEAD: answer, POST: answer, PUT: answer, DELETE: answer }
}
