import type { ProblemCode } from "@svc/protocol/Problem"
import { Context } from "effect"

/** A request that was answered, or whose client left before. */
export interface EndedRequest {
  /** Template of the route, `/v1/mandates/{mandate_id}`; absent when no route has the path. */
  readonly route: string | undefined
  readonly method: string
  /** 499 when the client disconnected before the response. */
  readonly status: number
  /** Code of the problem in the response. */
  readonly problem: string | undefined
}

/** Is told of requests. What it does must be quick, and must not throw. */
export interface RequestObserver {
  /** A request begins; the returned function is called when it has ended. */
  readonly began: () => (ended: EndedRequest) => void
  /** A request was refused before it reached the routes, since its headers could not be read or it came too slowly. */
  readonly refused: (problem: ProblemCode) => void
}

/** Who is told. By default nobody. */
export const RequestObserver = Context.Reference<RequestObserver | undefined>(
  "@svc/http-server/http/RequestObserver",
  { defaultValue: () => undefined }
)
