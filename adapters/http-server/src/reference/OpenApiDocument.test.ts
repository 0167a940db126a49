import { assert, describe, it } from "@effect/vitest"
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { Validator } from "@seriousme/openapi-schema-validator"
import { isJsonObject, type JsonObject, type JsonValue } from "@svc/protocol/json/Json"
import { PROBLEM_CODES } from "@svc/protocol/Problem"
import { Ajv2020 } from "ajv/dist/2020.js"
import formats from "ajv-formats"
import { objectAt, objectsIn, resolved } from "../../test/JsonNode.ts"
import { openApiText } from "./DocumentRoutes.ts"

const text = openApiText("https://api.example")
const document = JSON.parse(text) as JsonObject

interface Operation {
  readonly name: string
  readonly operation: JsonObject
}

const operations: ReadonlyArray<Operation> = objectsIn(objectAt(document, "paths")).flatMap(
  ([path, methods]) =>
    objectsIn(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation }))
)

/** A schema that says what something is, and where it stands. */
interface Described {
  readonly at: string
  readonly schema: JsonObject
}

/** Every member of a schema at any depth, with what references lead to. */
const membersOf = (schema: JsonObject, at: string): ReadonlyArray<Described> => {
  if (typeof schema.$ref === "string") return []
  const members = isJsonObject(schema.properties ?? null) ? objectsIn(objectAt(schema, "properties")) : []
  const items = isJsonObject(schema.items ?? null) ? membersOf(objectAt(schema, "items"), `${at}[]`) : []
  const options = Array.isArray(schema.anyOf) ? (schema.anyOf as ReadonlyArray<JsonObject>) : []
  return [
    ...members.map(([name, member]) => ({ at: `${at}.${name}`, schema: member })),
    ...members.flatMap(([name, member]) => membersOf(member, `${at}.${name}`)),
    ...options.flatMap((option) => membersOf(option, at)),
    ...items
  ]
}

const components = objectsIn(objectAt(document, "components", "schemas"))
const requestNames = operations.flatMap(({ operation }) => {
  if (operation.requestBody === undefined) return []
  const { $ref } = objectAt(operation, "requestBody", "content", "application/json", "schema")
  return typeof $ref === "string" ? [$ref.split("/").at(-1)!] : []
})
const isRequest = (name: string): boolean => requestNames.includes(name)
const requestMembers = components
  .filter(([name]) => isRequest(name))
  .flatMap(([name, of]) => membersOf(of, name))
const answerMembers = components
  .filter(([name]) => !isRequest(name))
  .flatMap(([name, of]) => membersOf(of, name))

const parameters = operations.flatMap(({ name, operation }) =>
  ((operation.parameters ?? []) as ReadonlyArray<JsonObject>).map((parameter) => ({
    at: `${name} ${parameter.name}`,
    description: parameter.description,
    schema: objectAt(parameter, "schema")
  }))
)

const ajv = formats.default(new Ajv2020({ strict: false, allErrors: true }))
ajv.addSchema(document, "document")

const isValid = (schema: JsonObject, value: JsonValue): boolean => ajv.validate(schema, value)

/** Whether a schema bounds its values, or says that there is nothing to bound. */
const isBounded = ({ schema }: Described): boolean => {
  const has = (...names: ReadonlyArray<string>) => names.every((name) => schema[name] !== undefined)
  switch (schema.type) {
    case "string":
      return has("enum") || has("pattern") || has("minLength", "maxLength")
    case "integer":
      return has("minimum", "maximum")
    case "array":
      return has("minItems", "maxItems", "uniqueItems")
    case "object":
      return schema.additionalProperties === false || has("maxProperties", "propertyNames")
    default:
      return false
  }
}

const named = (all: ReadonlyArray<Described>, isWrong: (one: Described) => boolean) =>
  all.filter(isWrong).map(({ at }) => at)

describe("the OpenAPI document (part 9)", () => {
  it("is valid OpenAPI 3.1", async () => {
    const { errors, valid } = await new Validator().validate(JSON.parse(text))
    assert.deepStrictEqual([valid, errors], [true, undefined])
  })

  it("passes the recommended rules of a linter without a warning", async () => {
    const config = await createConfig({ extends: ["recommended"] })
    const problems = await lintFromString({ source: text, absoluteRef: "openapi.json", config })
    assert.deepStrictEqual(
      problems.map(({ location, message, ruleId }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
      []
    )
  })

  it("has a description, bounds and an example for every member of a request", () => {
    assert.isAtLeast(requestMembers.length, 53)
    assert.deepStrictEqual(
      named(requestMembers, ({ schema }) => typeof schema.description !== "string"),
      []
    )
    assert.deepStrictEqual(
      named(requestMembers, (one) => !isBounded(one)),
      []
    )
    const hasExample = ({ schema }: Described) => Array.isArray(schema.examples) || schema.type === "object"
    assert.deepStrictEqual(
      named(requestMembers, (one) => !hasExample(one)),
      []
    )
  })

  it("describes every member of an answer, every parameter and every header", () => {
    assert.isAtLeast(answerMembers.length, 150)
    assert.deepStrictEqual(
      named(
        answerMembers,
        ({ schema }) => typeof schema.description !== "string" && schema.$ref === undefined
      ),
      []
    )
    assert.deepStrictEqual(
      parameters.filter(({ description }) => typeof description !== "string").map(({ at }) => at),
      []
    )
    const headers = objectsIn(objectAt(document, "components", "headers"))
    assert.deepStrictEqual(
      headers.filter(([, of]) => typeof of.description !== "string").map(([name]) => name),
      []
    )
  })

  it("has examples that fit their schemas", () => {
    const all = [...requestMembers, ...answerMembers, ...parameters]
    const examples = all.flatMap(({ at, schema }) =>
      ((schema.examples ?? []) as ReadonlyArray<JsonValue>).map((value) => ({ at, schema, value }))
    )
    assert.isAtLeast(examples.length, 150)
    assert.deepStrictEqual(
      examples.filter(({ schema, value }) => !isValid(schema, value)).map(({ at }) => at),
      []
    )
  })

  it("closes requests and leaves answers open to new members", () => {
    const isClosed = ({ schema }: Described) => schema.additionalProperties === false
    const [closed, open] = [true, false].map((request) =>
      components.filter(([name]) => isRequest(name) === request).map(([at, schema]) => ({ at, schema }))
    ) as [Array<Described>, Array<Described>]
    assert.strictEqual(closed.length, 8)
    assert.deepStrictEqual(
      named(closed, (one) => !isClosed(one)),
      []
    )
    assert.deepStrictEqual(named([...open, ...answerMembers], isClosed), [])
  })

  it("lists the headers of every answer", () => {
    const answers = operations.flatMap(({ name, operation }) =>
      objectsIn(objectAt(operation, "responses")).map(([status, answer]) => ({
        at: `${name} ${status}`,
        headers: Object.keys(objectAt(resolved(document, answer), "headers"))
      }))
    )
    for (const { at, headers } of answers) {
      assert.includeMembers(headers, ["X-Request-Id", "Cache-Control"], at)
      if (/ 401$/u.test(at)) assert.include(headers, "WWW-Authenticate", at)
      if (/ 405$/u.test(at)) assert.include(headers, "Allow", at)
      if (/ (?:429|503)$/u.test(at)) assert.include(headers, "Retry-After", at)
    }
    assert.includeMembers(
      answers.map(({ at }) => at),
      operations.map(({ name }) => `${name} 405`)
    )
    const of = (wanted: string) => answers.find(({ at }) => at === wanted)?.headers ?? []
    assert.includeMembers(of("post /v1/mandates 201"), ["Location", "Idempotency-Replayed", "RateLimit"])
    assert.include(of("get /.well-known/jwks.json 200"), "ETag")
    assert.include(of("get /.well-known/jwks.json 304"), "ETag")
    assert.notInclude(of("post /v1/mandates/{mandate_id}/approval-sessions 201"), "Location")
  })

  it("names operations like functions, in described tags", () => {
    const webhooks = objectsIn(objectAt(document, "webhooks")).map(([, of]) => objectAt(of, "post"))
    const all = [...operations.map(({ operation }) => operation), ...webhooks]
    const ids = all.map(({ operationId }) => String(operationId))
    assert.deepStrictEqual(
      ids.filter((id) => !/^[a-z][A-Za-z]+$/u.test(id)),
      []
    )
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.includeMembers(ids, ["createMandate", "createAuthorization", "commitAuthorization", "getKeySet"])
    const tags = (document.tags as ReadonlyArray<JsonObject>).map(({ description, name }) => [
      name,
      typeof description
    ])
    assert.deepStrictEqual(
      tags.filter(([, description]) => description !== "string"),
      []
    )
    assert.includeMembers(
      tags.map(([name]) => name),
      all.flatMap(({ tags: of }) => of as ReadonlyArray<string>)
    )
  })

  it("states cause, remedy and retryability of every problem", () => {
    const { description } = objectAt(document, "components", "schemas", "Problem", "properties", "code")
    for (const code of PROBLEM_CODES) assert.include(String(description), `\`${code}\``)
    const examples = objectsIn(objectAt(document, "components", "examples"))
    assert.isAtLeast(examples.length, 35)
    for (const [name, { description: words, value }] of examples) {
      assert.match(String(words), /Not retryable unchanged\.$|Retryable\.$/u, name)
      assert.isTrue(isValid({ $ref: "document#/components/schemas/Problem" }, value as JsonValue), name)
    }
  })
})
