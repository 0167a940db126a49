import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer } from "effect"
import { HttpMiddleware, HttpServer } from "effect/http"
import { clientAddressOf, NO_PROXIES } from "./ClientAddress.ts"
import { type EdgeOptions, httpEdge } from "./HttpEdge.ts"
import type { HttpRoute } from "./HttpRoute.ts"
import { makeRawServer, type RawRefusal, type RawServerOptions, STOP_TIMEOUT_MS } from "./RawServer.ts"
import { RequestObserver } from "./RequestObserver.ts"

export interface ListenerOptions extends EdgeOptions, Omit<RawServerOptions, "onRefused"> {
  /** 0 lets the operating system choose. */
  readonly port: number
  /** Address to bind to. Default: all addresses of the machine. */
  readonly host?: string
}

/**
 * A listener: routes behind the edge, on a server of their own. The layer provides the `HttpServer`, whose `address` is the
 * bound one. The caller provides what the routes share with another listener.
 *
 * Effect's tracer is off, since it records raw paths.
 */
export const httpListener = <Route extends HttpRoute<unknown>>(
  routes: ReadonlyArray<Route>,
  options: ListenerOptions
) =>
  Layer.unwrap(
    Effect.map(Effect.context<never>(), (context) => {
      const runFork = Effect.runForkWith(context)
      const observer = Context.get(context, RequestObserver)
      const onRefused = ({ code, peer, requestId }: RawRefusal) => {
        observer?.refused(code)
        runFork(
          Effect.logInfo("request refused").pipe(
            Effect.annotateLogs({
              request_id: requestId,
              problem: code,
              client_address: clientAddressOf(peer, undefined, NO_PROXIES)
            })
          )
        )
      }
      const gracefulShutdownTimeout = options.stopTimeoutMs ?? STOP_TIMEOUT_MS
      const listenOptions = { port: options.port, gracefulShutdownTimeout, ...hostOf(options) }
      return HttpServer.serve(httpEdge(routes, options)).pipe(
        Layer.provideMerge(
          NodeHttpServer.layerServer(() => makeRawServer({ ...options, onRefused }), listenOptions)
        ),
        Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen)(() => true))
      )
    })
  )

const hostOf = (options: ListenerOptions) => (options.host === undefined ? {} : { host: options.host })
