import type { ApiKeyScope } from "@svc/domain/organization/Organization"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Context, type Effect } from "effect"
import type { HttpServerRequest } from "effect/http"

/** Whom a request acts for, by a host's own authentication. */
export interface HostCaller {
  /** Identifier of the organization. */
  readonly organization: string
  readonly scopes: ReadonlyArray<ApiKeyScope>
}

/**
 * How a host that mounts the API authenticates its requests, in place of API keys; `undefined` for a request that acts for
 * nobody, unavailable if it cannot tell now. Default: API keys.
 */
export const CallerAuthentication = Context.Reference<
  | ((
      request: HttpServerRequest.HttpServerRequest
    ) => Effect.Effect<HostCaller | undefined, StoreUnavailable>)
  | undefined
>("@svc/http-server/api/CallerAuthentication", { defaultValue: () => undefined })
