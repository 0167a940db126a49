import { assert, describe, it } from "@effect/vitest"
import { CreateApprovalSessionBody } from "@svc/protocol/ApprovalSession"
import {
  CancellationBody,
  CommitBody,
  CreateAuthorizationBody,
  RefundBody
} from "@svc/protocol/Authorization"
import { REQUEST_EXAMPLES } from "@svc/protocol/api/RequestExamples"
import { isJsonObject, type JsonObject, type JsonValue } from "@svc/protocol/json/Json"
import { CreateMandateBody, RevokeMandateBody } from "@svc/protocol/Mandate"
import type { MemberFault } from "@svc/protocol/Problem"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { CreateWebhookEndpointBody } from "@svc/protocol/webhook/WebhookEndpoint"
import { Result } from "effect"
import { objectAt, objectsIn } from "../../test/JsonNode.ts"
import { openApiText } from "./DocumentRoutes.ts"

const document = JSON.parse(openApiText("https://api.example")) as JsonObject

/** What decodes each body, by the component that documents it. */
const DECODERS: Readonly<
  Record<string, (value: JsonValue) => Result.Result<unknown, ReadonlyArray<MemberFault>>>
> = {
  CreateMandate: decodeBody(CreateMandateBody),
  RevokeMandate: decodeBody(RevokeMandateBody),
  CreateApprovalSession: decodeBody(CreateApprovalSessionBody),
  CreateAuthorization: decodeBody(CreateAuthorizationBody),
  CommitAuthorization: decodeBody(CommitBody),
  CancelAuthorization: decodeBody(CancellationBody),
  ReportRefund: decodeBody(RefundBody),
  CreateWebhookEndpoint: decodeBody(CreateWebhookEndpointBody)
}

/** Values at a bound, which are accepted, and beyond it, which are refused at this very place. */
interface Bound {
  readonly at: ReadonlyArray<string | number>
  readonly accepted: ReadonlyArray<JsonValue>
  readonly refused: ReadonlyArray<JsonValue>
  /** Where a refusal points, beneath `at`. */
  readonly beneath?: string
}

/** A character of two UTF-16 units: bounds count code points. */
const ASTRAL = "\u{1F600}"

const numberOf = (schema: JsonObject, name: string): number | undefined => {
  const value = schema[name]
  return typeof value === "number" ? value : undefined
}

/** A value with every member that the schema has. */
const sampleOf = (schema: JsonObject): JsonValue => {
  if (isJsonObject(schema.properties ?? null)) {
    return Object.fromEntries(
      objectsIn(objectAt(schema, "properties")).map(([name, member]) => [name, sampleOf(member)])
    )
  }
  if (schema.type === "array") return [sampleOf(objectAt(schema, "items"))]
  const [example] = (schema.examples ?? schema.enum ?? ["x".repeat(numberOf(schema, "minLength") ?? 1)]) as [
    JsonValue
  ]
  return example
}

const ofText = (schema: JsonObject): Pick<Bound, "accepted" | "refused"> => {
  if (Array.isArray(schema.enum)) return { accepted: schema.enum, refused: ["NONE_OF_THEM", 1] }
  if (schema.pattern !== undefined) {
    const dates = schema.format === "date-time" ? ["2026-02-30T00:00:00Z", "2026-01-01T00:00:00+01:00"] : []
    return { accepted: [sampleOf(schema)], refused: ["", "!", `${sampleOf(schema)} `, 1, ...dates] }
  }
  const [least, most] = [numberOf(schema, "minLength")!, numberOf(schema, "maxLength")!]
  return {
    accepted: [ASTRAL.repeat(least), ASTRAL.repeat(most)],
    refused: [ASTRAL.repeat(least - 1), ASTRAL.repeat(most + 1), "\u0000", "\ud800".padEnd(least, "x"), 1]
  }
}

const ofNumber = (schema: JsonObject): Pick<Bound, "accepted" | "refused"> => {
  const [least, most] = [numberOf(schema, "minimum")!, numberOf(schema, "maximum")!]
  return { accepted: [least, most], refused: [least - 1, most + 1, least + 0.5, String(least)] }
}

const ofList = (schema: JsonObject): Pick<Bound, "accepted" | "refused"> => {
  const entry = sampleOf(objectAt(schema, "items"))
  const listOf = (length: number): JsonValue => Array.from({ length }, () => entry)
  const [least, most] = [numberOf(schema, "minItems")!, numberOf(schema, "maxItems")!]
  const tooFew = least === 0 ? [] : [listOf(least - 1)]
  return { accepted: [listOf(least), listOf(most)], refused: [...tooFew, listOf(most + 1), {}] }
}

const membersNamed = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`name_${index}`, "value"]))

const ofRecord = (schema: JsonObject): Pick<Bound, "accepted" | "refused"> => {
  const most = numberOf(schema, "maxProperties")!
  return { accepted: [{}, membersNamed(most)], refused: [membersNamed(most + 1), []] }
}

const ofNames = (schema: JsonObject): Pick<Bound, "accepted" | "refused"> => {
  const most = numberOf(objectAt(schema, "propertyNames"), "maxLength")!
  return { accepted: [{ [ASTRAL.repeat(most)]: "value" }], refused: [{ [ASTRAL.repeat(most + 1)]: "value" }] }
}

const ofMembers = (schema: JsonObject, at: Bound["at"]): ReadonlyArray<Bound> => {
  const sample = sampleOf(schema) as JsonObject
  const required = (schema.required ?? []) as ReadonlyArray<string>
  const without = (name: string) =>
    Object.fromEntries(Object.entries(sample).filter(([other]) => other !== name))
  return [
    { at, accepted: [sample], refused: [{ ...sample, unheard_of: 1 }], beneath: "/unheard_of" },
    ...Object.keys(sample).map((name): Bound => {
      const rest = without(name)
      return required.includes(name)
        ? { at, accepted: [], refused: [rest], beneath: `/${name}` }
        : { at, accepted: [rest], refused: [{ ...sample, [name]: null }], beneath: `/${name}` }
    })
  ]
}

/** The bounds that a schema states, at any depth. */
const boundsOf = (schema: JsonObject, at: Bound["at"]): ReadonlyArray<Bound> => {
  if (isJsonObject(schema.properties ?? null)) {
    const members = objectsIn(objectAt(schema, "properties"))
    return [...ofMembers(schema, at), ...members.flatMap(([name, member]) => boundsOf(member, [...at, name]))]
  }
  switch (schema.type) {
    case "string":
      return [{ at, ...ofText(schema) }]
    case "integer":
      return [{ at, ...ofNumber(schema) }]
    case "array":
      return [{ at, ...ofList(schema) }, ...boundsOf(objectAt(schema, "items"), [...at, 0])]
    case "object":
      return [
        { at, ...ofRecord(schema) },
        { at, ...ofNames(schema), beneath: "*" }
      ]
    default:
      throw new Error(`${at.join("/")} states no type`)
  }
}

/** The body with another value at a place. */
const replaced = (body: JsonValue, at: Bound["at"], value: JsonValue): JsonValue => {
  const [name, ...rest] = at
  if (name === undefined) return value
  if (Array.isArray(body))
    return body.map((entry, index) => (index === name ? replaced(entry, rest, value) : entry))
  const members = body as JsonObject
  return { ...members, [name]: replaced(members[name]!, rest, value) }
}

const pointerOf = ({ at }: Bound): string => at.map((name) => `/${name}`).join("")

const pointsTo = (bound: Bound, pointer: string): boolean =>
  bound.beneath === "*"
    ? pointer.startsWith(pointerOf(bound))
    : pointer === pointerOf(bound) + (bound.beneath ?? "")

describe("the bounds in the OpenAPI document are the enforced ones", () => {
  for (const [name, decode] of Object.entries(DECODERS)) {
    it(`for ${name}`, () => {
      const schema = objectAt(document, "components", "schemas", name)
      const body = sampleOf(schema)
      const bounds = boundsOf(schema, [])
      assert.isAtLeast(bounds.length, Object.keys(body as JsonObject).length)
      for (const bound of bounds) {
        for (const value of bound.accepted) {
          const decoded = decode(replaced(body, bound.at, value))
          assert.isTrue(
            Result.isSuccess(decoded),
            `${pointerOf(bound)} ${JSON.stringify(value).slice(0, 60)}`
          )
        }
        for (const value of bound.refused) {
          const decoded = decode(replaced(body, bound.at, value))
          const faults = Result.isFailure(decoded) ? decoded.failure.map(({ pointer }) => pointer) : []
          const words = `${pointerOf(bound)} ${JSON.stringify(value).slice(0, 60)}: ${faults.join(" ")}`
          assert.isTrue(
            faults.some((pointer) => pointsTo(bound, pointer)),
            words
          )
        }
      }
    })
  }

  it("and every request example is accepted", () => {
    const operations = objectsIn(objectAt(document, "paths")).flatMap(([, methods]) => objectsIn(methods))
    const bodies = operations.flatMap(([, { operationId, requestBody }]) => {
      const example = REQUEST_EXAMPLES[String(operationId)]
      if (example === undefined) return []
      const { $ref } = objectAt(requestBody!, "content", "application/json", "schema")
      return [[String($ref).split("/").at(-1)!, example as JsonObject] as const]
    })
    assert.strictEqual(bodies.length, Object.keys(DECODERS).length)
    for (const [name, example] of bodies) assert.isTrue(Result.isSuccess(DECODERS[name]!(example)), name)
  })
})
