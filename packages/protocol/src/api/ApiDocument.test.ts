import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { PROBLEM_CODES, PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemCode } from "../Problem.ts"
import { Api } from "./Api.ts"
import { REQUEST_EXAMPLES } from "./RequestExamples.ts"

type Node = Readonly<Record<string, unknown>>

/** Made anew, since a document is kept by its options. */
const document = (): Node => OpenApi.fromApi(Api, {}) as unknown as Node

const at = <A = Node>(node: unknown, ...path: ReadonlyArray<string>): A =>
  path.reduce<unknown>((found, name) => (found as Node | undefined)?.[name], node) as A

interface Operation {
  readonly route: string
  readonly of: Node
}

const operationsOf = (of: Node): ReadonlyArray<readonly [id: string, operation: Operation]> =>
  Object.entries(at(of, "paths")).flatMap(([path, methods]) =>
    Object.entries(methods as Node).map(
      ([method, operation]) =>
        [
          at<string>(operation, "operationId"),
          { route: `${method.toUpperCase()} ${path}`, of: operation as Node }
        ] as const
    )
  )

const operation = (of: Node, id: string): Node => new Map(operationsOf(of)).get(id)!.of

const parameters = (of: Node): ReadonlyArray<Node> => at(of, "parameters")

const parameter = (of: Node, name: string): Node | undefined =>
  parameters(of).find((one) => one.name === name)

const responsesOf = (all: Node, of: Node): ReadonlyArray<readonly [status: string, response: Node]> =>
  Object.entries(at<Readonly<Record<string, Node>>>(of, "responses")).map(([status, response]) => [
    status,
    typeof response.$ref === "string"
      ? at(all, "components", "responses", response.$ref.replace("#/components/responses/", ""))
      : response
  ])

const codesIn = (response: Node): ReadonlyArray<ProblemCode> => {
  const allOf = at<ReadonlyArray<Node> | undefined>(
    response,
    "content",
    PROBLEM_MEDIA_TYPE,
    "schema",
    "allOf"
  )
  return allOf === undefined ? [] : at(allOf[1], "properties", "code", "enum")
}

const headersOf = (response: Node): ReadonlyArray<string> => Object.keys(at(response, "headers"))

const RATE = ["RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]
const ALWAYS = ["X-Request-Id", "Cache-Control"]

/** Problems of every operation, and of those that ask for an API key, take a body, honour a key and need one (part 2). */
const EVERYWHERE =
  "malformed_request method_not_allowed not_acceptable request_timeout expectation_failed headers_too_large rate_limited internal_error store_unavailable"
const SCOPED = "authentication_required api_key_invalid scope_insufficient billing_account_required"
const BODY = "malformed_json payload_too_large unsupported_media_type validation_failed"
const KEYED = "idempotency_key_invalid idempotency_key_reused"

/** By operation id: scope, idempotency key, body, status of the success, and problems of its own (parts 2, 3 and 9). */
const OPERATIONS: ReadonlyArray<
  readonly [
    id: string,
    scope: string,
    key: "none" | "optional" | "required",
    body: string,
    success: string,
    own: string
  ]
> = [
  ["createMandate", "write", "required", "CreateMandate", "201", ""],
  [
    "createApprovalSession",
    "write",
    "required",
    "CreateApprovalSession",
    "201",
    "not_found state_conflict assertion_replayed mandate_limit_reached return_url_not_allowed identity_assertion_invalid subject_mismatch enrolment_not_allowed"
  ],
  ["getMandate", "read", "none", "none", "200", "not_found"],
  ["listMandates", "read", "none", "none", "200", "invalid_cursor"],
  ["listMandatePeriods", "read", "none", "none", "200", "not_found"],
  ["listMandateEvents", "read", "none", "none", "200", "not_found invalid_cursor"],
  [
    "revokeMandate",
    "write",
    "required",
    "RevokeMandate",
    "200",
    "not_found state_conflict mandate_limit_reached"
  ],
  [
    "createAuthorization",
    "write",
    "required",
    "CreateAuthorization",
    "201",
    "not_found commitment_reused mandate_limit_reached"
  ],
  ["listAuthorizations", "read", "none", "none", "200", "not_found invalid_cursor"],
  ["getAuthorization", "read", "none", "none", "200", "not_found"],
  [
    "commitAuthorization",
    "write",
    "required",
    "CommitAuthorization",
    "200",
    "not_found terminal_state_conflict commitment_mismatch mandate_limit_reached"
  ],
  [
    "cancelAuthorization",
    "write",
    "required",
    "CancelAuthorization",
    "200",
    "not_found terminal_state_conflict mandate_limit_reached"
  ],
  [
    "reportRefund",
    "write",
    "required",
    "ReportRefund",
    "201",
    "not_found state_conflict refund_exceeds_committed mandate_limit_reached"
  ],
  ["getEvidence", "read", "none", "none", "200", "not_found invalid_cursor"],
  ["listEvents", "read", "none", "none", "200", "invalid_cursor"],
  ["listPasskeys", "read", "none", "none", "200", "not_found invalid_cursor"],
  ["retirePasskey", "write", "none", "empty", "204", "not_found"],
  [
    "createWebhookEndpoint",
    "webhooks",
    "required",
    "CreateWebhookEndpoint",
    "201",
    "webhook_endpoint_limit_reached webhook_target_not_allowed"
  ],
  ["listWebhookEndpoints", "webhooks", "none", "none", "200", "invalid_cursor"],
  ["getWebhookEndpoint", "webhooks", "none", "none", "200", "not_found"],
  ["deleteWebhookEndpoint", "webhooks", "optional", "empty", "204", "not_found"],
  ["reactivateWebhookEndpoint", "webhooks", "optional", "empty", "200", "not_found state_conflict"],
  ["rotateWebhookSecret", "webhooks", "optional", "empty", "200", "not_found state_conflict"],
  ["testWebhookEndpoint", "webhooks", "optional", "empty", "201", "not_found state_conflict"],
  ["listWebhookDeliveries", "webhooks", "none", "none", "200", "not_found invalid_cursor"],
  ["redeliverWebhook", "webhooks", "optional", "empty", "201", "not_found state_conflict"],
  ["getKeySet", "none", "none", "none", "200 304", ""],
  ["getHealth", "none", "none", "none", "200", ""],
  ["getReadiness", "none", "none", "none", "200", ""]
]

const words = (text: string): ReadonlyArray<string> => text.split(" ").filter((word) => word !== "")

describe("the operations of the document (part 9)", () => {
  it("are these, and take a bearer API key", () => {
    const all = document()
    assert.sameMembers(
      operationsOf(all).map(([id]) => id),
      OPERATIONS.map(([id]) => id)
    )
    const { type, scheme } = at(all, "components", "securitySchemes", "api_key")
    assert.deepStrictEqual([type, scheme], ["http", "bearer"])
  })

  it("declare scope, idempotency key, body, success and problems", () => {
    const all = document()
    for (const [id, scope, key, body, success, own] of OPERATIONS) {
      const of = operation(all, id)
      assert.deepStrictEqual(of.security, scope === "none" ? [] : [{ api_key: [scope] }], id)
      const required = { none: undefined, optional: false, required: true }[key]
      assert.strictEqual(parameter(of, "Idempotency-Key")?.required, required, id)
      const schema = at(of.requestBody, "content", "application/json", "schema")
      if (body === "none") assert.isUndefined(of.requestBody, id)
      else if (body === "empty") assert.deepStrictEqual(schema, { type: "object", maxProperties: 0 }, id)
      else assert.deepStrictEqual(schema, { $ref: `#/components/schemas/${body}` }, id)
      const responses = responsesOf(all, of)
      const answers = responses.filter(([status]) => Number(status) < 400)
      assert.sameMembers(
        answers.map(([status]) => status),
        [...words(success)],
        id
      )
      const problems = responses.flatMap(([status, response]) =>
        codesIn(response).map((code) => ({ code, status: Number(status) }))
      )
      const expected = [
        EVERYWHERE,
        ...(scope === "none" ? [] : [SCOPED]),
        ...(body === "none" ? [] : [BODY]),
        ...(key === "none" ? [] : [KEYED]),
        ...(key === "required" ? ["idempotency_key_required"] : []),
        own
      ].flatMap(words)
      assert.sameMembers(
        problems.map(({ code }) => code),
        expected,
        id
      )
      for (const { code, status } of problems) assert.strictEqual(PROBLEMS[code].status, status, code)
    }
  })
})

describe("the headers of an answer in the document (part 1)", () => {
  it("name the resource that was created, a replay, and the limit of the key's rate", () => {
    const all = document()
    for (const [id, scope, key] of OPERATIONS.filter(([name]) => name !== "getKeySet")) {
      const created = ["createMandate", "createAuthorization", "createWebhookEndpoint"].includes(id)
      const expected = [
        ...ALWAYS,
        ...(created ? ["Location"] : []),
        ...(key === "none" ? [] : ["Idempotency-Replayed"]),
        ...(scope === "none" ? [] : RATE)
      ]
      const [, answer] = responsesOf(all, operation(all, id))[0]!
      assert.sameMembers([...headersOf(answer)], expected, id)
      assert.deepStrictEqual(at(answer, "headers", "Cache-Control"), {
        $ref: "#/components/headers/CacheControlNoStore"
      })
    }
  })

  it("of a problem are those of its status", () => {
    const all = document()
    const own: Readonly<Record<string, ReadonlyArray<string>>> = {
      401: ["WWW-Authenticate"],
      405: ["Allow"],
      429: ["Retry-After"],
      503: ["Retry-After"]
    }
    for (const [id, { of }] of operationsOf(all)) {
      for (const [status, response] of responsesOf(all, of).filter(([code]) => Number(code) >= 400)) {
        assert.sameMembers([...headersOf(response)], [...ALWAYS, ...(own[status] ?? []), ...RATE], id)
      }
    }
  })

  it("let the key set be kept, and asked for again by its tag", () => {
    const of = operation(document(), "getKeySet")
    const headers = {
      "X-Request-Id": { $ref: "#/components/headers/RequestId" },
      "Cache-Control": { $ref: "#/components/headers/CacheControlPublic" },
      ETag: { $ref: "#/components/headers/ETag" }
    }
    assert.deepStrictEqual(at(of, "responses", "200", "headers"), headers)
    assert.deepStrictEqual(at(of, "responses", "304", "headers"), headers)
    assert.isUndefined(at(of, "responses", "304", "content"))
    assert.deepInclude(parameter(of, "If-None-Match")!, { in: "header", required: false })
    assert.deepEqual(at(of, "responses", "400"), { $ref: "#/components/responses/MalformedRequest" })
  })
})

const PARAMETERS: ReadonlyArray<readonly [id: string, name: string, schema: Node]> = [
  ["listMandates", "limit", { type: "integer", minimum: 1, maximum: 100, default: 25, examples: [25] }],
  ["listMandatePeriods", "limit", { type: "integer", minimum: 1, maximum: 100, default: 12, examples: [12] }],
  ["getEvidence", "after_seq", { type: "integer", minimum: 1, maximum: 9007199254740991, examples: [1] }],
  ["listMandates", "cursor", { type: "string" }],
  [
    "getKeySet",
    "If-None-Match",
    { type: "string", examples: ['"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"'] }
  ],
  ["getMandate", "mandate_id", { type: "string", examples: ["mnd_01kbcd2e3f4g5h6j7k8m9npqrs"] }],
  [
    "listMandatePeriods",
    "from",
    {
      type: "string",
      format: "date-time",
      pattern: "^[2-9]\\d{3}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,9})?Z$",
      examples: ["2027-01-01T00:00:00Z"]
    }
  ],
  [
    "createMandate",
    "Idempotency-Key",
    {
      type: "string",
      pattern: "^[\\x21-\\x7e]{1,255}$",
      examples: ["9f3c1f52-3b8e-4a6c-9f1e-7d2a5b6c8d90"]
    }
  ]
]

describe("the parameters of the document (part 1)", () => {
  it("have the bounds of what is read, and a description", () => {
    const all = document()
    for (const [id, name, schema] of PARAMETERS) {
      const found = parameter(operation(all, id), name)!
      assert.deepStrictEqual(found.schema, schema, `${id} ${name}`)
      assert.isString(found.description, `${id} ${name}`)
    }
  })

  it("say of which entries a limit is", () => {
    const all = document()
    const ofLimit = (id: string) => parameter(operation(all, id), "limit")?.description
    assert.strictEqual(ofLimit("listMandatePeriods"), "Most entries for each entry of policy.periods.")
    assert.strictEqual(ofLimit("listMandates"), "Most entries of the answer.")
  })
})

describe("the bodies of the document (part 9)", () => {
  it("have the example of their operation, unless they are empty", () => {
    const all = document()
    for (const [id, , , body] of OPERATIONS.filter(([, , , of]) => of !== "none")) {
      const requestBody = operation(all, id).requestBody
      const example = at(requestBody, "content", "application/json", "example")
      assert.deepStrictEqual(example, body === "empty" ? {} : REQUEST_EXAMPLES[id], id)
      assert.isDefined(example, id)
      assert.strictEqual(at<boolean>(requestBody, "required"), body !== "empty", id)
    }
  })

  it("are closed to unknown members, and answers open to new ones", () => {
    const all = document()
    const requests = OPERATIONS.map(([, , , body]) => body)
    const closed = (value: unknown): ReadonlyArray<boolean> => {
      if (typeof value !== "object" || value === null) return []
      const own = (value as Node).type === "object" && "properties" in value
      return [
        ...(own ? [(value as Node).additionalProperties === false] : []),
        ...Object.values(value).flatMap(closed)
      ]
    }
    for (const [name, schema] of Object.entries(at(all, "components", "schemas"))) {
      const found = closed(schema)
      assert.isNotEmpty(found, name)
      assert.isTrue(
        found.every((isClosed) => isClosed === requests.includes(name)),
        name
      )
    }
    const answers = operationsOf(all).flatMap(([, { of }]) => closed(of.responses))
    assert.notInclude(answers, true)
  })

  it("have the bounds of what is read", () => {
    const schemas = at(document(), "components", "schemas")
    const text = { type: "string", minLength: 1, maxLength: 255 }
    const money = { type: "integer", minimum: 1, maximum: 9007199254740991 }
    const members: ReadonlyArray<readonly [path: string, bounds: Node]> = [
      ["CreateMandate subject_reference", text],
      ["CreateMandate policy currency", { type: "string", pattern: "^[A-Z]{3}$" }],
      ["CreateMandate policy max_amount", money],
      ["CreateMandate policy allowed_actions", { minItems: 1, maxItems: 50, uniqueItems: true }],
      ["CreateMandate policy attribute_rules", { minItems: 0, maxItems: 20, uniqueItems: true }],
      ["CreateMandate window ends_at", { type: "string", format: "date-time" }],
      ["CreateApprovalSession return_state", { type: "string", minLength: 16, maxLength: 512 }],
      ["CreateAuthorization execution_window_seconds", { type: "integer", minimum: 30, maximum: 86_400 }],
      ["CreateAuthorization proposed_action attributes", { maxProperties: 50, additionalProperties: text }],
      ["Authorization proposed_action attributes", { maxProperties: 50, additionalProperties: text }],
      ["EvidenceEnvelope payload", { type: "string", pattern: "^[A-Za-z0-9_-]*$" }]
    ]
    for (const [path, bounds] of members) {
      const [name = "", ...names] = path.split(" ")
      const steps = names.flatMap((member) => ["properties", member])
      const schema: Node = at(schemas, name, ...steps)
      assert.deepInclude(schema, bounds, path)
    }
  })

  it("say that an answer without a body is one", () => {
    const all = document()
    for (const id of ["retirePasskey", "deleteWebhookEndpoint"]) {
      const response = at(operation(all, id), "responses", "204")
      assert.strictEqual(response.description, "Done; there is no body.")
    }
    assert.notStrictEqual(
      at(operation(all, "getMandate"), "responses", "200").description,
      "Done; there is no body."
    )
  })
})

describe("the problems of the document (part 2)", () => {
  const example = (all: Node, name: string): Node => at(all, "components", "examples", name, "value")

  it("are described and have examples wherever an operation has them", () => {
    const all = document()
    for (const [id, { of }] of operationsOf(all)) {
      for (const [, response] of responsesOf(all, of)) {
        const examples = at<Node | undefined>(response, "content", PROBLEM_MEDIA_TYPE, "examples") ?? {}
        assert.sameMembers(Object.keys(examples), [...codesIn(response)], id)
        for (const [code, reference] of Object.entries(examples)) {
          const name = at<string>(reference, "$ref").replace("#/components/examples/", "")
          assert.strictEqual(example(all, name).code, code)
          assert.include(response.description, `- \`${code}\`: ${PROBLEMS[code as ProblemCode].cause}`)
        }
      }
    }
  })

  it("are one response each where an operation has one code of a status", () => {
    const all = document()
    assert.deepStrictEqual(
      at<unknown>(
        all,
        "components",
        "responses",
        "NotFound",
        "content",
        PROBLEM_MEDIA_TYPE,
        "schema",
        "allOf"
      ),
      [
        { $ref: "#/components/schemas/Problem" },
        { type: "object", properties: { code: { type: "string", enum: ["not_found"] } } }
      ]
    )
    assert.deepStrictEqual(at(operation(all, "getMandate"), "responses", "404"), {
      $ref: "#/components/responses/NotFound"
    })
    assert.sameMembers(Object.keys(at(all, "components", "responses")), [
      "ExpectationFailed",
      "HeadersTooLarge",
      "IdempotencyKeyReused",
      "InternalError",
      "MalformedRequest",
      "MethodNotAllowed",
      "NotAcceptable",
      "NotFound",
      "PayloadTooLarge",
      "RateLimited",
      "RequestTimeout",
      "StoreUnavailable",
      "UnsupportedMediaType",
      "ValidationFailed"
    ])
  })

  it("have examples of what a problem carries", () => {
    const all = document()
    const given = operationsOf(all).flatMap(([, { of }]) =>
      responsesOf(all, of).flatMap(([, response]) => [...codesIn(response)])
    )
    const examples = Object.values(at(all, "components", "examples")).map((one) => at(one, "value"))
    assert.sameMembers(
      examples.map(({ code }) => code),
      [...new Set(given)]
    )
    for (const { code, status, retryable, type, title, detail, ...others } of examples) {
      const { cause, ...problem } = PROBLEMS[code as ProblemCode]
      assert.deepInclude(
        { status, retryable, title },
        {
          status: problem.status,
          retryable: problem.retryable,
          title: problem.title
        }
      )
      assert.strictEqual(detail, cause)
      assert.strictEqual(type, `https://api.example/problems/${String(code).replaceAll("_", "-")}`)
      const expected =
        code === "validation_failed"
          ? ["errors"]
          : code === "state_conflict" || code === "terminal_state_conflict"
            ? ["current_state", "resource_id"]
            : []
      assert.sameMembers(Object.keys(others), ["request_id", ...expected], String(code))
    }
    assert.lengthOf(at<ReadonlyArray<unknown>>(example(all, "ValidationFailed"), "errors"), 1)
  })

  it("say what to do, and whether to repeat the request", () => {
    const all = document()
    const said = (name: string) => at<string>(all, "components", "examples", name, "description")
    assert.isTrue(said("NotFound").endsWith("which organization's key you use. Not retryable unchanged."))
    assert.isTrue(said("RateLimited").endsWith("Wait as long as Retry-After says. Retryable."))
    const { otherCause, remedy } = PROBLEMS.invalid_cursor
    assert.include(said("InvalidCursor"), `${otherCause} ${remedy}`)
  })

  it("are all listed where the code is described, whose other members stay", () => {
    const problem = at(document(), "components", "schemas", "Problem")
    const { description, enum: codes, type } = at(problem, "properties", "code")
    assert.strictEqual(type, "string")
    assert.sameMembers([...(codes as ReadonlyArray<string>)], [...PROBLEM_CODES])
    assert.isTrue(String(description).startsWith("What to go by in a program."))
    for (const code of PROBLEM_CODES) {
      assert.include(String(description), `\n- \`${code}\` (${PROBLEMS[code].status}): `)
    }
    assert.containsAllKeys(at(problem, "properties"), ["type", "title", "status", "detail", "request_id"])
  })

  it("have their pages at the server's own address", () => {
    class Elsewhere extends Api.annotate(OpenApi.Servers, [{ url: "https://mandates.example" }]) {}
    const all = OpenApi.fromApi(Elsewhere, {}) as unknown as Node
    assert.strictEqual(example(all, "NotFound").type, "https://mandates.example/problems/not-found")
  })
})

describe("the webhooks of the document (part 8)", () => {
  it("have the body that a delivery has", () => {
    const all = document()
    const sent = (type: string) =>
      at(all, "webhooks", type, "post", "requestBody", "content", "application/json", "example")
    const common = { id: "evt_01kbcd2e3f4g5h6j7k8m9npqrs", occurred_at: "2026-12-01T09:00:00.000000000Z" }
    const mandate_id = "mnd_01kbcd2e3f4g5h6j7k8m9npqrs"
    assert.deepStrictEqual(sent("mandate.approved"), {
      ...common,
      type: "mandate.approved",
      data: { mandate_id, state: "ACTIVE", version: 2 }
    })
    assert.deepStrictEqual(sent("authorization.expired"), {
      ...common,
      type: "authorization.expired",
      data: { mandate_id, authorization_id: "aut_01kbcd2e3f4g5h6j7k8m9npqrs", version: 2 }
    })
    assert.deepStrictEqual(sent("endpoint.test"), {
      ...common,
      type: "endpoint.test",
      data: { mandate_id: "mnd_00000000000000000000000000", version: 0 }
    })
  })

  it("are tagged, named after their events, have a body, and need no API key", () => {
    const all = document()
    assert.include(
      at<ReadonlyArray<Node>>(all, "tags").map(({ name }) => name),
      "Webhooks"
    )
    const webhooks = Object.entries(at(all, "webhooks")).map(([type, of]) => [type, at(of, "post")] as const)
    assert.lengthOf(webhooks, 16)
    for (const [type, of] of webhooks) {
      assert.deepStrictEqual([of.tags, of.security], [["Webhooks"], []], type)
      assert.strictEqual(at<boolean>(of, "requestBody", "required"), true, type)
    }
    assert.strictEqual(
      at(all, "webhooks", "authorization.outcome_conflict", "post").operationId,
      "onAuthorizationOutcomeConflict"
    )
  })
})
