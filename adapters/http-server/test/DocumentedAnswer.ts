import { isJsonObject, type JsonObject, type JsonValue } from "@svc/protocol/json/Json"
import { Ajv2020 } from "ajv/dist/2020.js"
import formats from "ajv-formats"
import { openApiText } from "../src/reference/DocumentRoutes.ts"
import { objectAt, objectsIn, resolved } from "./JsonNode.ts"
import type { RawAnswer } from "./RawExchange.ts"

const document = JSON.parse(openApiText("https://api.example")) as JsonObject

const ajv = formats.default(new Ajv2020({ strict: false, allErrors: true }))
ajv.addSchema(document, "document")

const paths = objectsIn(objectAt(document, "paths")).map(([path, methods]) => ({
  path,
  // A path that names its parameters in full goes before one that would take them for a value.
  pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/gu, "[^/]+")}$`, "u"),
  methods
}))

/** Headers that an answer must not have undeclared. */
const TRACKED = [
  "location",
  "idempotency-replayed",
  "retry-after",
  "ratelimit",
  "ratelimit-policy",
  "ratelimit-limit",
  "ratelimit-remaining",
  "ratelimit-reset",
  "www-authenticate",
  "etag",
  "allow"
]

/** Reference to a place in the document, through which its own references are found. */
const validatorAt = (...path: ReadonlyArray<string>) => {
  const pointer = path.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1")))
  const $ref = `document#/${pointer.join("/")}`
  return ajv.getSchema($ref) ?? ajv.compile({ $ref })
}

const check = (where: string, path: ReadonlyArray<string>, value: JsonValue): void => {
  const validate = validatorAt(...path)
  if (!validate(value)) {
    throw new Error(
      `${where} is not as documented: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(value)}`
    )
  }
}

/** Where something is in the document, once its reference is followed. */
const placeOf = (node: JsonObject, place: ReadonlyArray<string>): ReadonlyArray<string> =>
  typeof node.$ref === "string" ? node.$ref.slice(2).split("/") : place

const checkHeaders = (where: string, place: ReadonlyArray<string>, answer: RawAnswer): void => {
  const declared = objectsIn(objectAt(document, ...place, "headers"))
  for (const [name, given] of declared) {
    const header = resolved(document, given)
    const value = answer.headers[name.toLowerCase()]
    if (value === undefined) {
      if (header.required === true) throw new Error(`${where} lacks the header ${name}`)
      continue
    }
    const isInteger = objectAt(header, "schema").type === "integer"
    const at = [...placeOf(given, [...place, "headers", name]), "schema"]
    check(`${where} ${name}`, at, isInteger ? Number(value) : value)
  }
  const names = new Set(declared.map(([name]) => name.toLowerCase()))
  const foreign = TRACKED.filter((name) => answer.headers[name] !== undefined && !names.has(name))
  if (foreign.length > 0)
    throw new Error(`${where} has headers that are not documented: ${foreign.join(", ")}`)
}

const checkBody = (where: string, place: ReadonlyArray<string>, answer: RawAnswer): void => {
  const { content } = objectAt(document, ...place)
  if (content === undefined) {
    if (answer.body !== "") throw new Error(`${where} has a body`)
    return
  }
  const mediaType = answer.headers["content-type"]?.split(";")[0] ?? "none"
  if (!isJsonObject(content) || content[mediaType] === undefined) {
    throw new Error(`${where} is of the type ${mediaType}`)
  }
  check(where, [...place, "content", mediaType, "schema"], JSON.parse(answer.body))
}

const seen = new Set<string>()

/** What was checked in this process: an operation and a status each, `createMandate 201`. */
export const checkedAnswers = (): ReadonlySet<string> => seen

/** Every operation with each status of success that the document has for it. */
export const documentedSuccesses: ReadonlyArray<string> = paths.flatMap(({ methods }) =>
  objectsIn(methods).flatMap(([, operation]) =>
    Object.keys(objectAt(operation, "responses"))
      .filter((status) => Number(status) < 400)
      .map((status) => `${operation.operationId} ${status}`)
  )
)

/**
 * Throws unless the answer is as the OpenAPI document says: its status, its headers and its body. An answer to a path that
 * the document does not have is left alone.
 */
export const assertDocumented = (method: string, target: string, answer: RawAnswer): void => {
  const path = target.split("?")[0]!
  const found = paths.find(({ pattern }) => pattern.test(path))
  if (found === undefined) return
  const asked = method === "HEAD" ? "get" : method.toLowerCase()
  const own = objectsIn(found.methods).find(([name]) => name === asked)
  const [name, operation] = own ?? objectsIn(found.methods)[0]!
  const status = String(answer.status)
  const where = `${method} ${found.path} ${status}`
  const answers = objectAt(operation, "responses")
  if (own === undefined && status !== "405" && answer.status < 400)
    throw new Error(`${where} is not documented`)
  if (answers[status] === undefined) throw new Error(`${where} is not documented: ${answer.body}`)
  const place = placeOf(objectAt(answers, status), ["paths", found.path, name, "responses", status])
  checkHeaders(where, place, answer)
  if (method !== "HEAD") checkBody(where, place, answer)
  if (own !== undefined) seen.add(`${operation.operationId} ${status}`)
}
