import { isPathOf, partsOf, type Service } from "./Service.ts"
import { answerFor } from "./ServiceFetch.ts"

/** What is used of Hono's context. */
export interface HonoContextLike {
  readonly req: { readonly raw: Request }
}

/**
 * Middleware for Hono. What is not below the paths of the service goes on to the next handler.
 *
 * @example
 * ```ts
 * import { Hono } from "hono"
 * import { svcHono } from "svc/hono"
 *
 * const app = new Hono()
 * app.use(svcHono(service))
 * ```
 */
export const svcHono = (
  service: Service
): ((context: HonoContextLike, next: () => Promise<void>) => Promise<Response | undefined>) => {
  partsOf(service, "svcHono")
  return async (context, next) => {
    const { host, pathname, search } = new URL(context.req.raw.url)
    if (isPathOf(service, pathname + search, host)) return answerFor(service.fetch, context.req.raw)
    await next()
    return undefined
  }
}
