import { API_KEY_SCOPES } from "@svc/domain/organization/Organization"
import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { makeApi } from "@svc/http-server/api/ApiServer"
import { CallerAuthentication } from "@svc/http-server/api/CallerAuthentication"
import { makeApprovalOrigin } from "@svc/http-server/approval/ApprovalServer"
import { type EdgeOptions, httpEdge, targetOf } from "@svc/http-server/http/HttpEdge"
import { requestIdOf } from "@svc/http-server/http/RequestId"
import { type Duration, Effect } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { isHostOf } from "./HostName.ts"
import { unknownNames } from "./OptionFaults.ts"
import { makeFaultLog } from "./ServiceLog.ts"
import type { AuthenticatedCaller, ServiceOptions } from "./ServiceOptions.ts"
import type { Services } from "./ServiceRuntime.ts"
import type { Mounts } from "./ServiceSettings.ts"
import { unawaited } from "./Thenable.ts"

/** Answers a request with the services of its `createService`. */
export type ServiceApp = Effect.Effect<HttpServerResponse.HttpServerResponse, never, Services | Incoming>

type Incoming = HttpServerRequest.HttpServerRequest

/** The URL of a path and query as they were sent, which name no other host, however they begin. */
const urlOf = (target: string, baseUrl: string): URL => {
  if (!target.startsWith("/")) throw new TypeError("the target of the request is no path")
  return new URL(new URL(baseUrl).origin + target)
}

/** A request without its body, for the functions of the host. */
const headOf = (request: Incoming, { baseUrl }: ServiceOptions): Request =>
  request.source instanceof Request
    ? new Request(request.source.url, { method: request.source.method, headers: request.source.headers })
    : new Request(urlOf(targetOf(request), baseUrl), { method: request.method, headers: request.headers })

/** The same, or nothing for a target or a method that no `Request` can have. */
const headIfAny = (request: Incoming, options: ServiceOptions): Request | undefined => {
  try {
    return headOf(request, options)
  } catch {
    return undefined
  }
}

/** Longest that a function of the host is waited for. */
export const HOST_TIMEOUT: Duration.Input = "10 seconds"

/** Whom a host lets in, and to what. What it returned by mistake is its fault, and lets nobody in. */
const callerOf = (caller: AuthenticatedCaller) => {
  // A misspelt `scopes` that was passed over would let a caller do everything.
  const [unknown] = unknownNames(caller, ["organization", "scopes"])
  if (unknown !== undefined) throw new TypeError(`what authenticate resolves with: ${unknown}`)
  const { organization, scopes = API_KEY_SCOPES } = caller
  const isKnown =
    Array.isArray(scopes) && scopes.every((scope: unknown) => API_KEY_SCOPES.some((known) => known === scope))
  if (typeof organization !== "string" || !isKnown)
    throw new TypeError(
      `authenticate must resolve with an organization and, if it names scopes, a list of some of ${API_KEY_SCOPES.join(", ")}`
    )
  return { organization, scopes: [...scopes] }
}

export const authenticationOf = (options: ServiceOptions) => {
  const { authenticate } = options
  if (authenticate === undefined) return undefined
  return (request: Incoming) =>
    Effect.promise(async () => authenticate(headOf(request, options))).pipe(
      Effect.timeoutOrElse({
        duration: HOST_TIMEOUT,
        orElse: () => Effect.fail(new StoreUnavailable({ cause: "authenticate has not resolved in time" }))
      }),
      Effect.map((caller) => (caller ? callerOf(caller) : undefined))
    )
}

/**
 * The client's address as the host says, or else that of the socket: a host that fails here, or says what is no text, must
 * neither make requests fail nor lift the limits of those who send wrong credentials.
 */
const addressBy = (
  clientAddress: NonNullable<ServiceOptions["clientAddress"]>,
  options: ServiceOptions
): NonNullable<EdgeOptions["clientAddress"]> => {
  const noteFault = makeFaultLog(options.logger)
  return (request) => {
    const head = headIfAny(request, options)
    if (head === undefined) return undefined
    const facts = { request_id: requestIdOf(request.source) }
    try {
      const address: unknown = clientAddress(head)
      if (address === undefined || typeof address === "string") return address
      noteFault("clientAddress must return a text or undefined: the address of the socket counts", facts)
      // That it is a promise has been said; why it rejects would be another line for each request.
      unawaited(address, () => undefined)
    } catch (fault) {
      const why = fault instanceof Error ? fault.message : "with what is no Error"
      noteFault(`clientAddress failed, and the address of the socket counts: ${why}`, facts)
    }
    return undefined
  }
}

const isBelow = (target: string, path: string): boolean =>
  target === path || target.startsWith(`${path}/`) || target.startsWith(`${path}?`)

/** Which face a request is for: the longer of the paths that it is below, or by its host if both have one path. */
export const faceOf = ({ api, approval }: Mounts, target: string, host: string | undefined) => {
  const isOfApi = isBelow(target, api.path)
  const isOfApproval = isBelow(target, approval.path)
  if (isOfApi && isOfApproval) {
    if (api.path === approval.path) return isHostOf(approval.url, host) ? "approval" : "api"
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
    clientAddress === undefined ? {} : { clientAddress: addressBy(clientAddress, options) }
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
