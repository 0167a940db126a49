import { API_KEY_SCOPES } from "@svc/domain/organization/Organization"
import { makeApi } from "@svc/http-server/api/ApiServer"
import { CallerAuthentication } from "@svc/http-server/api/CallerAuthentication"
import { makeApprovalOrigin } from "@svc/http-server/approval/ApprovalServer"
import { type EdgeOptions, httpEdge, targetOf } from "@svc/http-server/http/HttpEdge"
import { Effect } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { ServiceOptions } from "./ServiceOptions.ts"
import type { Services } from "./ServiceRuntime.ts"
import type { Mounts } from "./ServiceSettings.ts"

/** Answers a request with the services of its `createService`. */
export type ServiceApp = Effect.Effect<HttpServerResponse.HttpServerResponse, never, Services | Incoming>

type Incoming = HttpServerRequest.HttpServerRequest

/** A request without its body, for the functions of the host. */
const headOf = (request: Incoming, { baseUrl }: ServiceOptions): Request =>
  request.source instanceof Request
    ? new Request(request.source.url, { method: request.source.method, headers: request.source.headers })
    : new Request(new URL(targetOf(request), baseUrl), { method: request.method, headers: request.headers })

const authenticationOf = (options: ServiceOptions) => {
  const { authenticate } = options
  if (authenticate === undefined) return undefined
  return (request: Incoming) =>
    Effect.map(
      Effect.promise(async () => authenticate(headOf(request, options))),
      (caller) => caller && { organization: caller.organization, scopes: caller.scopes ?? API_KEY_SCOPES }
    )
}

const isBelow = (target: string, path: string): boolean =>
  target === path || target.startsWith(`${path}/`) || target.startsWith(`${path}?`)

/** Which face a request is for: the longer of the paths that it is below, or by its host if both have one path. */
export const faceOf = ({ api, approval }: Mounts, target: string, host: string | undefined) => {
  const isOfApi = isBelow(target, api.path)
  const isOfApproval = isBelow(target, approval.path)
  if (isOfApi && isOfApproval) {
    if (api.path === approval.path) return host === approval.url.host ? "approval" : "api"
    return api.path.length > approval.path.length ? "api" : "approval"
  }
  if (isOfApi) return "api"
  return isOfApproval ? "approval" : undefined
}

const hostOf = (request: Incoming): string | undefined =>
  request.source instanceof Request ? new URL(request.source.url).host : request.headers.host

/** Both faces as one effect of a request: the API below the path of `baseUrl`, the approval page below that of `approvalUrl`. */
export const makeApp = Effect.fnUntraced(function* (options: ServiceOptions, mounts: Mounts) {
  const clientAddress = options.clientAddress
  const common: Pick<EdgeOptions, "clientAddress"> =
    clientAddress === undefined ? {} : { clientAddress: (request) => clientAddress(headOf(request, options)) }
  const api = yield* makeApi(options)
  const origin = yield* makeApprovalOrigin
  const authentication = authenticationOf(options)
  const faces: Readonly<Record<"api" | "approval", ServiceApp>> = {
    api: httpEdge(api.routes, { ...api.options, ...common, mountPath: mounts.api.path }).pipe(
      Effect.provideService(CallerAuthentication, authentication)
    ),
    approval: httpEdge(origin.routes, {
      ...origin.options,
      ...common,
      mountPath: mounts.approval.path
    })
  }
  return Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    (request) => faces[faceOf(mounts, targetOf(request), hostOf(request)) ?? "api"]
  )
})
