import { Context } from "effect"
import { type HttpApiEndpoint, type HttpApiGroup, OpenApi } from "effect/http-api"
import { CALLER_DUTIES } from "../CallerDuties.ts"
import { MAX_SAFE_INTEGER } from "../Mandate.ts"
import { PROBLEM_CODES, PROBLEM_MEDIA_TYPE, type ProblemCode } from "../Problem.ts"
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX } from "../request/ListPage.ts"
import { PROBLEM_CODE_WORDS, problemAnswer, problemExamples, problemResponses } from "./ProblemDocument.ts"
import { REQUEST_EXAMPLES } from "./RequestExamples.ts"
import { PERIODS_LIMIT_DEFAULT } from "./RequestParts.ts"
import { headersNamed, RESPONSE_HEADERS, successHeaders } from "./ResponseHeaders.ts"
import { RouteRule } from "./RouteRule.ts"
import { WEBHOOK_SCHEMAS, WEBHOOK_TAG, WEBHOOKS } from "./WebhookDocument.ts"

const SECURITY_SCHEME = {
  type: "http",
  scheme: "bearer",
  description: `An API key: svc_test_... in the test environment, svc_live_... in the live one. Each operation names the scope that the key must have: \`read\` (reads outside webhooks), \`write\` (other writes) or \`webhooks\` (everything under webhook endpoints). ${CALLER_DUTIES.keysOnServers}`
}

type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const at = (node: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((found, name) => (isNode(found) ? found[name] : undefined), node)

const mapMembers = (node: unknown, change: (member: unknown, name: string) => unknown): Node =>
  isNode(node)
    ? Object.fromEntries(Object.entries(node).map(([name, member]) => [name, change(member, name)]))
    : {}

/** Changes every object of a tree, the innermost first. */
const everywhere = (value: unknown, change: (node: Node) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((entry) => everywhere(entry, change))
  return isNode(value) ? change(mapMembers(value, (member) => everywhere(member, change))) : value
}

/** Responses are open: a later release may add members to them. */
const opened = (node: Node): Node => {
  if (node.additionalProperties !== false) return node
  const { additionalProperties: _, ...rest } = node
  return rest
}

const answerSchema = (schema: unknown): unknown => everywhere(schema, opened)

/** What an operation declares in addition to its schemas. */
interface OperationFacts {
  readonly operationId: string
  readonly rule: RouteRule
  readonly hasLocation: boolean
}

/** Operations whose response names in `Location` the resource that a GET route reads. */
const LOCATED = new Set(["createMandate", "createAuthorization", "createWebhookEndpoint"])

const factsOf = (endpoint: HttpApiEndpoint.Top): OperationFacts => {
  const operationId = Context.getOrElse(endpoint.annotations, OpenApi.Identifier, () => endpoint.identifier)
  const rule = Context.get(endpoint.annotations, RouteRule)
  return { operationId, rule, hasLocation: LOCATED.has(operationId) }
}

const codesIn = (response: unknown): ReadonlyArray<ProblemCode> | undefined => {
  const code = at(response, "content", PROBLEM_MEDIA_TYPE, "schema", "properties", "code")
  const [only] = (at(code, "anyOf") ?? [code]) as ReadonlyArray<unknown>
  const codes = at(only, "enum")
  return Array.isArray(codes) ? codes : undefined
}

const withAnswers = (responses: unknown, facts: OperationFacts): Node => {
  const headers = successHeaders({
    hasApiKey: facts.rule.scope !== undefined,
    hasIdempotencyKey: facts.rule.idempotencyKey !== "none",
    hasLocation: facts.hasLocation
  })
  return mapMembers(responses, (response, status) => {
    const codes = codesIn(response)
    if (codes !== undefined) return problemAnswer(Number(status), codes)
    const words = status === "204" ? { description: "Done; there is no body." } : {}
    return { ...(answerSchema(response) as Node), ...words, headers }
  })
}

/** Names of headers as they are usually written. */
const HEADER_NAMES: Readonly<Record<string, string>> = { "idempotency-key": "Idempotency-Key" }

/** The schema of a number in a query is that of its text, so the bounds are restored here. */
const limitParameter = (parameter: Node, operationId: string): Node => {
  const byDefault = operationId === "listMandatePeriods" ? PERIODS_LIMIT_DEFAULT : LIST_LIMIT_DEFAULT
  return {
    ...parameter,
    description:
      operationId === "listMandatePeriods"
        ? "Most entries for each entry of policy.periods."
        : "Most entries of the answer.",
    schema: {
      type: "integer",
      minimum: 1,
      maximum: LIST_LIMIT_MAX,
      default: byDefault,
      examples: [byDefault]
    }
  }
}

/** The same for the number of an event. */
const afterSeqParameter = (parameter: Node): Node => ({
  ...parameter,
  description:
    "seq of the last event that you have: what followed is answered, as a continuation. Absent: the whole journal. Beyond the journal it is invalid_cursor, since what you have is then not the service's history any more.",
  schema: { type: "integer", minimum: 1, maximum: MAX_SAFE_INTEGER, examples: [1] }
})

/** Moves the description of a parameter from its schema to the parameter. */
const withWords = (parameter: unknown, operationId: string): unknown => {
  if (!isNode(parameter)) return parameter
  if (parameter.name === "limit") return limitParameter(parameter, operationId)
  if (parameter.name === "after_seq") return afterSeqParameter(parameter)
  const { description, ...schema } = parameter.schema as Node
  const name = HEADER_NAMES[String(parameter.name)] ?? parameter.name
  return { ...parameter, name, description, schema }
}

const withExample = (requestBody: unknown, operationId: string): Node => {
  const value = REQUEST_EXAMPLES[operationId]
  const body = requestBody as Node
  if (value === undefined) return body
  const content = mapMembers(body.content, (media) => ({ ...(media as Node), example: value }))
  return { ...body, content }
}

/** No body and `{}` are the same input. */
const EMPTY_BODY = {
  required: false,
  description: "May be left out: no body and {} are the same.",
  content: {
    "application/json": { schema: { type: "object", maxProperties: 0 }, example: {} }
  }
}

const bodyOf = (operation: Node, { operationId, rule }: OperationFacts): Node => {
  if (rule.body === "empty") return { requestBody: EMPTY_BODY }
  return operation.requestBody === undefined
    ? {}
    : { requestBody: withExample(operation.requestBody, operationId) }
}

/** The key set may be kept, and asked for again by its tag (part 1). */
const withCaching = (operation: Node): Node => {
  const headers = headersNamed("RequestId", "CacheControlPublic", "ETag")
  return {
    ...operation,
    parameters: [
      {
        name: "If-None-Match",
        in: "header",
        required: false,
        description: "ETag of the key set that you have: the answer is 304 while it is the current one.",
        schema: { type: "string", examples: ['"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"'] }
      }
    ],
    responses: {
      ...mapMembers(operation.responses, (response, status) =>
        status === "200" ? { ...(response as Node), headers } : response
      ),
      304: { description: "You have the current key set; there is no body.", headers }
    }
  }
}

const completeOperation = (operation: unknown, facts: ReadonlyMap<string, OperationFacts>): unknown => {
  if (!isNode(operation)) return operation
  const known = facts.get(String(operation.operationId))
  if (known === undefined) throw new Error(`no declaration of ${operation.operationId}`)
  const { scope } = known.rule
  const completed = {
    ...operation,
    parameters: (operation.parameters as ReadonlyArray<unknown>).map((one) =>
      withWords(one, known.operationId)
    ),
    ...bodyOf(operation, known),
    responses: withAnswers(operation.responses, known),
    security: scope === undefined ? [] : [{ api_key: [scope] }]
  }
  return known.operationId === "getKeySet" ? withCaching(completed) : completed
}

const refOf = (requestBody: unknown): string | undefined => {
  const ref = at(requestBody, "content", "application/json", "schema", "$ref")
  return typeof ref === "string" ? ref.split("/").at(-1) : undefined
}

const operationsIn = (paths: unknown): ReadonlyArray<unknown> =>
  Object.values(isNode(paths) ? paths : {}).flatMap((path) => Object.values(isNode(path) ? path : {}))

const problemComponent = (schema: unknown): unknown => {
  const problem = answerSchema(schema) as Node
  const code = { ...(at(problem, "properties", "code") as Node) }
  const description = `${code.description}\n\n${PROBLEM_CODE_WORDS}`
  return { ...problem, properties: { ...(problem.properties as Node), code: { ...code, description } } }
}

const schemasOf = (document: Node): Node => {
  const requests = new Set(operationsIn(document.paths).map((of) => refOf(at(of, "requestBody"))))
  return mapMembers(at(document, "components", "schemas"), (schema, name) => {
    if (name === "Problem") return problemComponent(schema)
    return requests.has(name) ? schema : answerSchema(schema)
  })
}

const codesOf = (document: Node): ReadonlyArray<ReadonlyArray<ProblemCode>> =>
  operationsIn(document.paths)
    .flatMap((operation) => Object.values((at(operation, "responses") ?? {}) as Node))
    .map(codesIn)
    .filter((codes) => codes !== undefined)

const EXAMPLE_BASE_URL = "https://api.example"

const baseUrlOf = (document: Node): string => {
  const server = Array.isArray(document.servers) ? document.servers[0] : undefined
  return String(at(server, "url") ?? EXAMPLE_BASE_URL)
}

/**
 * Completes the document that is made from the API (part 9): response headers, problems, examples, rules that bind
 * members to each other, scopes, and the webhooks. Requests stay closed to unknown members; responses are open to new ones.
 */
export const completeDocument = (groups: ReadonlyArray<HttpApiGroup.Top>) => {
  const endpoints = groups.flatMap(({ endpoints: of }) => Object.values(of))
  const facts = new Map(endpoints.map(factsOf).map((of) => [of.operationId, of]))
  return (document: Node): Record<string, unknown> => {
    const codes = codesOf(document)
    const alone = [...new Set(codes.filter(({ length }) => length === 1).flat())]
    const { security: _, ...rest } = document
    return {
      ...rest,
      tags: [...(document.tags as ReadonlyArray<unknown>), WEBHOOK_TAG],
      paths: mapMembers(document.paths, (path) =>
        mapMembers(path, (operation) => completeOperation(operation, facts))
      ),
      webhooks: WEBHOOKS,
      components: {
        schemas: { ...schemasOf(document), ...WEBHOOK_SCHEMAS },
        responses: problemResponses(alone),
        headers: RESPONSE_HEADERS,
        examples: problemExamples(
          PROBLEM_CODES.filter((code) => codes.flat().includes(code)),
          baseUrlOf(document)
        ),
        securitySchemes: { api_key: SECURITY_SCHEME }
      }
    }
  }
}
