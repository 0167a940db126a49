import { partsOf, type Service } from "./Service.ts"
import { answerFor } from "./ServiceFetch.ts"

type RouteHandler = (request: Request) => Promise<Response>

/** Next compresses responses by itself, and drops the `content-encoding` of one that is compressed already. */
const uncompressed = (request: Request): Request => {
  const headers = new Headers(request.headers)
  headers.set("accept-encoding", "identity")
  return new Request(request, { headers })
}

/**
 * Route handlers for Next.js, for `app/mandates/[[...path]]/route.ts` where `baseUrl` ends in `/mandates`, and another such
 * file for the path of `approvalUrl`. A function that gives the service is called by the first request: `next build` imports
 * the routes, and may have neither your settings nor a database.
 *
 * @example
 * ```ts
 * import { toRouteHandlers } from "svc/next"
 * export const { GET, HEAD, POST, PUT, DELETE } = toRouteHandlers(service)
 * ```
 */
export const toRouteHandlers = (
  service: Service | (() => Service)
): Readonly<Record<"GET" | "HEAD" | "POST" | "PUT" | "DELETE", RouteHandler>> => {
  if (typeof service !== "function") partsOf(service, "toRouteHandlers")
  let made: Service | undefined
  const serviceOf = (): Service => {
    if (made !== undefined) return made
    const given = typeof service === "function" ? service() : service
    partsOf(given, "toRouteHandlers")
    made = given
    return given
  }
  const answer: RouteHandler = async (request) => answerFor(serviceOf().fetch, uncompressed(request))
  return { GET: answer, HEAD: answer, POST: answer, PUT: answer, DELETE: answer }
}
