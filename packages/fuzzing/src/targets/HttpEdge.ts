import { PROBLEM_CODES, PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemCode } from "@svc/protocol/Problem"
import { testService } from "svc/testkit"
import { demand, type FuzzTarget, latin1Of } from "../FuzzTarget.ts"

const ORIGIN = "http://localhost:3000"

/** Requests that one service answers; what they leave behind is then thrown away. */
const REQUESTS_OF_A_SERVICE = 5000

const START = "2026-03-28T12:00:00Z"

/** Methods that no `Request` can have. */
const FORBIDDEN = /^(?:CONNECT|TRACE|TRACK)$/iu

/** The status of each operation's answers, by method and template, as the OpenAPI document declares them. */
type Declared = ReadonlyMap<string, ReadonlySet<string>>

const declaredBy = (document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses?: object }>>>>
}): Declared =>
  new Map(
    Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(
        ([method, { responses = {} }]) =>
          [`${method.toUpperCase()} ${path}`, new Set(Object.keys(responses))] as const
      )
    )
  )

/** A service with one of each thing that a path can name. */
const makeWorld = async () => {
  const service = await testService({ now: START, logger: () => undefined })
  const { key } = await service.createApiKey(service.organization)
  const shop = service.forOrganization(service.organization)
  const policy = { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] }
  const terms = {
    kind: "RECURRING",
    subject_reference: "user_1",
    policy: { ...policy, periods: [{ unit: "DAY", max_amount: 1_000_000 }] },
    window: { ends_at: service.clock.after({ days: 400 }) }
  } as const
  const pending = await shop.mandates.create(terms)
  const active = await shop.mandates.create(terms)
  await service.approve(active)
  const session = await shop.mandates.openApproval(pending.id, {
    identity_assertion: "user_1",
    return_url: "https://shop.example/return",
    return_state: "state of sixteen characters"
  })
  const authorization = await shop.authorizations.propose(active.id, {
    external_reference: "order-1",
    execution_window_seconds: 900,
    commitment: "cvQ2P1OuvyGVpcvdHWh2G-djv_bzsPy64Z3JMOLPY3E",
    proposed_action: { action: "card.create", payment: { amount: 100, currency: "EUR" } }
  })
  const { data: endpoints } = await shop.webhooks.list()
  const openApi = await service.fetch(new Request(`${ORIGIN}/mandates/openapi.json`))
  const names = {
    "{key}": key,
    "{pending}": pending.id,
    "{mandate}": active.id,
    "{authorization}": authorization.id,
    "{endpoint}": endpoints[0]?.id ?? "",
    "{token}": session.approval_url?.split("/").at(-1) ?? ""
  }
  return { service, names, declared: declaredBy(await openApi.json()) }
}

let world: ReturnType<typeof makeWorld> | undefined
let answered = 0

const currentWorld = async () => {
  if (answered >= REQUESTS_OF_A_SERVICE) {
    await (await world)?.service.close()
    world = undefined
    answered = 0
  }
  answered += 1
  world ??= makeWorld()
  return world
}

/** `METHOD path`, lines of headers, an empty line, and the body; undefined for what no client can send. */
const requestOf = (text: string): Request | undefined => {
  const [head = "", ...rest] = text.split("\n\n")
  const [line = "", ...headers] = head.split("\n")
  const [method = "", ...path] = line.split(" ")
  const body = Uint8Array.from(Buffer.from(rest.join("\n\n"), "latin1"))
  if (FORBIDDEN.test(method)) return undefined
  try {
    return new Request(`${ORIGIN}/${path.join(" ").replace(/^\/+/u, "")}`, {
      method,
      headers: headers
        .filter((header) => header.includes(":"))
        .map((header) => {
          const colon = header.indexOf(":")
          return [header.slice(0, colon), header.slice(colon + 1)] as [string, string]
        }),
      ...(body.length === 0 || /^(?:get|head)$/iu.test(method) ? {} : { body })
    })
  } catch {
    return undefined
  }
}

const checkProblem = (
  response: Response,
  problem: Readonly<Record<string, unknown>>,
  declared: Declared,
  method: string
): void => {
  const { code, instance, status } = problem
  demand(PROBLEM_CODES.includes(code as ProblemCode), `the code ${code} is not declared`)
  demand(
    status === response.status && PROBLEMS[code as ProblemCode].status === status,
    `${code} is answered ${status}`
  )
  for (const member of ["type", "title", "detail", "request_id"]) {
    demand(typeof problem[member] === "string" && problem[member] !== "", `a problem has no ${member}`)
  }
  demand(code !== "validation_failed" || Array.isArray(problem.errors), "a validation has no errors")
  const operation = declared.get(`${method} ${instance}`)
  if (operation === undefined) return
  demand(operation.has(String(status)), `${method} ${instance} does not declare ${status} ${code}`)
}

const api = "authorization: Bearer {key}\ncontent-type: application/json\nidempotency-key: k1"
const terms = {
  kind: "SINGLE",
  subject_reference: "user_1",
  policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
  window: { ends_at: "2026-06-01T00:00:00Z" }
}

const to = (line: string, body?: object): string =>
  `${line}\n${api}\n\n${body === undefined ? "" : JSON.stringify(body)}`

/** Any request: never a 5xx, and every refusal a problem that the interface declares. */
export const httpEdge: FuzzTarget = {
  seeds: [
    to("POST mandates/v1/mandates", terms),
    to("GET mandates/v1/mandates?limit=10&state=ACTIVE&subject_reference=user_1"),
    to("GET mandates/v1/mandates/{mandate}"),
    to("GET mandates/v1/mandates/{mandate}/events?limit=5"),
    to("GET mandates/v1/mandates/{mandate}/periods?limit=5&from=2026-03-28T12:00:00Z"),
    to("GET mandates/v1/mandates/{mandate}/evidence?after_seq=1"),
    to("GET mandates/v1/mandates/{mandate}/authorizations?state=RESERVED"),
    to("PUT mandates/v1/mandates/{pending}/revocation", { reason: "r" }),
    to("POST mandates/v1/mandates/{pending}/approval-sessions", {
      identity_assertion: "user_1",
      return_url: "https://shop.example/return",
      return_state: "state of sixteen characters"
    }),
    to("POST mandates/v1/mandates/{mandate}/authorizations", {
      external_reference: "order-2",
      execution_window_seconds: 900,
      commitment: "AAQ2P1OuvyGVpcvdHWh2G-djv_bzsPy64Z3JMOLPY3E",
      proposed_action: {
        action: "card.create",
        attributes: { a: "b" },
        payment: { amount: 100, currency: "EUR" }
      }
    }),
    to("GET mandates/v1/authorizations/{authorization}"),
    to("PUT mandates/v1/authorizations/{authorization}/commit", {
      external_action_reference: "act",
      provider_transaction_reference: "txn",
      reported_accepted_at: START,
      commitment_opening: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    }),
    to("PUT mandates/v1/authorizations/{authorization}/cancellation", {
      reason: "EXECUTION_FAILED",
      execution_disposition: "NEVER_BECAME_POSSIBLE"
    }),
    to("POST mandates/v1/authorizations/{authorization}/refunds", {
      amount: 1,
      currency: "EUR",
      provider_refund_reference: "rfd",
      reported_refunded_at: START
    }),
    to("GET mandates/v1/events?limit=100&after=AAAA"),
    to("POST mandates/v1/webhook-endpoints", {
      url: "https://hooks.example/svc",
      event_types: ["mandate.created"]
    }),
    to("GET mandates/v1/webhook-endpoints/{endpoint}/deliveries?limit=1"),
    to("PUT mandates/v1/webhook-endpoints/{endpoint}/secret", {}),
    to("PUT mandates/v1/webhook-endpoints/{endpoint}/reactivation"),
    to("POST mandates/v1/webhook-endpoints/{endpoint}/test"),
    to("DELETE mandates/v1/webhook-endpoints/{endpoint}"),
    to("GET mandates/v1/subjects/user_1/passkeys"),
    'GET mandates/.well-known/jwks.json\naccept: application/json\nif-none-match: W/"a", *\n\n',
    "GET mandates/openapi.json\naccept-encoding: gzip, br;q=0\n\n",
    "GET mandates/docs\naccept: text/html\n\n",
    "GET mandates/problems/not-found\n\n",
    "HEAD mandates/livez\n\n",
    "OPTIONS mandates/v1/mandates\norigin: https://shop.example\n\n",
    "GET approvals/approve/{token}\naccept-language: de\n\n",
    'POST approvals/approve/{token}/ceremony\ncontent-type: application/json\norigin: http://localhost:3000\n\n{"language":"en"}',
    "POST approvals/approve/{token}/decline\ncontent-type: application/json\norigin: http://localhost:3000\n\n{}"
  ],
  words: [
    "mandates/v1/",
    "approvals/",
    "{mandate}",
    "{pending}",
    "{authorization}",
    "{endpoint}",
    "{token}",
    "{key}",
    "?limit=",
    "&cursor=",
    "after=",
    "%2F",
    "%00",
    "..",
    "//",
    "authorization: Bearer ",
    "authorization: Basic ",
    "idempotency-key: ",
    "content-type: application/json; charset=utf-8",
    "content-encoding: gzip",
    "content-length: 5",
    "transfer-encoding: chunked",
    "accept: text/html;q=0",
    "expect: 100-continue",
    "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "x-forwarded-for: ::1",
    "x-request-id: a",
    "cookie: svc_=",
    "if-none-match: *",
    "range: bytes=0-1",
    "GET ",
    "POST ",
    "PUT ",
    "DELETE ",
    "PATCH ",
    "HEAD ",
    "\n",
    "\n\n",
    ...Object.keys(terms).map((name) => `"${name}":`)
  ],
  run: async (input) => {
    const { declared, names, service } = await currentWorld()
    let text = latin1Of(input)
    for (const [name, value] of Object.entries(names)) text = text.replaceAll(name, value)
    const request = requestOf(text)
    if (request === undefined) return
    const response = await service.fetch(request)
    const body = await response.text()
    demand(response.status < 500, `it is answered ${response.status}: ${body.slice(0, 200)}`)
    demand(response.status >= 200, `it is answered ${response.status}`)
    if (request.method === "HEAD" || response.status < 400) return
    const type = response.headers.get("content-type") ?? ""
    const isPage = new URL(request.url).pathname.startsWith("/approvals")
    if (isPage && type.startsWith("text/html")) return
    demand(type === PROBLEM_MEDIA_TYPE, `${response.status} is answered as ${type}`)
    demand(response.headers.get("x-request-id") !== null, "an answer has no request id")
    checkProblem(response, JSON.parse(body), declared, request.method)
  }
}
