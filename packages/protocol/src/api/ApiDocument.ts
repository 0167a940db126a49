import { LIST_LIMIT_MAX } from "../ListPage.ts"
import { WEBHOOK_SCHEMAS, WEBHOOKS } from "./WebhookDocument.ts"

const SECURITY_SCHEME = {
  type: "http",
  scheme: "bearer",
  description: "An API key: svc_test_... in the test environment, svc_live_... in the live one"
}

type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A number of the interface is an integer; the schemas say so in a check that has no JSON Schema. */
const INTEGER = { type: "integer" }
const INTEGER_PARAMETER = { type: "integer", minimum: 1, maximum: LIST_LIMIT_MAX }

const isNumber = (node: Node): boolean =>
  node.type === "number" ||
  (Array.isArray(node.anyOf) && node.anyOf.some((option) => isNode(option) && option.type === "number"))

const withIntegers = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withIntegers)
  if (!isNode(value)) return value
  if (isNumber(value)) return INTEGER
  if (value.name === "limit" && value.in === "query") return { ...value, schema: INTEGER_PARAMETER }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withIntegers(member)]))
}

/** An operation that can answer 401 asks for an API key. */
const withSecurity = (operation: unknown): unknown => {
  if (!isNode(operation) || !isNode(operation.responses)) return operation
  return { ...operation, security: "401" in operation.responses ? [{ api_key: [] }] : [] }
}

const mapMembers = (node: unknown, change: (member: unknown) => unknown): Node =>
  isNode(node) ? Object.fromEntries(Object.entries(node).map(([name, member]) => [name, change(member)])) : {}

/** Completes the document that is made from the API: integers, API keys, and the webhooks (part 9). */
export const completeDocument = (document: Node): Record<string, unknown> => {
  const components = isNode(document.components) ? document.components : {}
  const { security: _, ...rest } = document
  return {
    ...rest,
    paths: withIntegers(mapMembers(document.paths, (path) => mapMembers(path, withSecurity))),
    webhooks: WEBHOOKS,
    components: {
      ...components,
      schemas: { ...mapMembers(components.schemas, withIntegers), ...WEBHOOK_SCHEMAS },
      securitySchemes: { api_key: SECURITY_SCHEME }
    }
  }
}
