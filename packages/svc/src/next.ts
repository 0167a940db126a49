import type { Service } from "./Service.ts"

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
  const { fetch } = service
  return { GET: fetch, HEAD: fetch, POST: fetch, PUT: fetch, DELETE: fetch }
}
