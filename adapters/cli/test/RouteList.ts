import { approvalRoutes } from "@svc/http-server/approval/ApprovalRoutes"
import { templateOf } from "@svc/http-server/http/RouteTable"
import { documentRoutes, problemRoutes } from "@svc/http-server/reference/DocumentRoutes"
import { Api } from "@svc/protocol/api/Api"
import { RouteRule } from "@svc/protocol/api/RouteRule"
import { Context, type SchemaAST } from "effect"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"

/** A route of either listener, as its own table or declaration says it. */
export interface ListedRoute {
  readonly listener: "api" | "approval"
  /** `documents`: a text that is the same for everybody. */
  readonly kind: "resources" | "documents"
  readonly method: string
  /** With parameters written `{name}`. */
  readonly template: string
  readonly rule: RouteRule
  /** Schema of the body, where the route takes one with members. */
  readonly payload: SchemaAST.AST | undefined
}

const groups = Object.values(Api.groups) as unknown as ReadonlyArray<HttpApiGroup.Top>

const payloadOf = (endpoint: HttpApiEndpoint.Top): SchemaAST.AST | undefined => {
  for (const { schemas } of endpoint.payload.values()) if (schemas[0] !== undefined) return schemas[0].ast
  return undefined
}

const apiRoutes = groups
  .flatMap(({ endpoints }) => Object.values(endpoints))
  .map((endpoint): ListedRoute => {
    const { method, path } = endpoint
    const rule = Context.get(endpoint.annotations, RouteRule)
    const template = templateOf(path)
    return { listener: "api", kind: "resources", method, template, rule, payload: payloadOf(endpoint) }
  })

const PLAIN: RouteRule = { idempotencyKey: "none", body: "none" }

const DOCUMENTS_AT = "https://api.example"

const documents = [...documentRoutes(DOCUMENTS_AT, undefined), ...problemRoutes(DOCUMENTS_AT)].map(
  ({ method, path }): ListedRoute => ({
    listener: "api",
    kind: "documents",
    method,
    template: path,
    rule: PLAIN,
    payload: undefined
  })
)

const approvalPages = approvalRoutes.map(
  ({ method, path }): ListedRoute => ({
    listener: "approval",
    kind: path.includes(":") ? "resources" : "documents",
    method,
    template: templateOf(path),
    rule: method === "GET" ? PLAIN : { idempotencyKey: "none", body: "members" },
    payload: undefined
  })
)

/** Every route of both listeners. A new one is in here by being declared. */
export const EVERY_ROUTE: ReadonlyArray<ListedRoute> = [...apiRoutes, ...documents, ...approvalPages]

/** The routes of the API that act for an organization. */
export const KEYED_ROUTES = apiRoutes.filter(({ rule }) => rule.scope !== undefined)

/** Names of a template's parameters, in order. */
export const parametersOf = (template: string): ReadonlyArray<string> =>
  [...template.matchAll(/\{(\w+)\}/gu)].map(([, name]) => name!)

/** The path of a template with these values, percent-encoded. */
export const pathOf = (template: string, valueFor: (name: string) => string): string =>
  template.replaceAll(/\{(\w+)\}/gu, (_, name: string) => encodeURIComponent(valueFor(name)))
