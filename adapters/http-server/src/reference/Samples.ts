import { REQUEST_EXAMPLES } from "@svc/protocol/api/RequestExamples"

/** Values that the samples contain. */
export interface SampleFacts {
  readonly baseUrl: string
  /** The API key of the development server. Absent: the samples read one from the environment. */
  readonly apiKey?: string | undefined
  /** Present for the development server, which accepts loopback addresses and issues its own identity assertions. */
  readonly development?: { readonly returnOrigin: string } | undefined
}

/** The operation that a sample calls. */
export interface SampledOperation {
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly needsApiKey: boolean
  readonly takesIdempotencyKey: boolean
}

/** The shell variable of a path parameter. */
const VARIABLES: Readonly<Record<string, string>> = {
  mandate_id: "$MANDATE_ID",
  authorization_id: "$AUTHORIZATION_ID",
  webhook_endpoint_id: "$WEBHOOK_ENDPOINT_ID",
  delivery_id: "$DELIVERY_ID",
  passkey_id: "$PASSKEY_ID",
  subject_reference: "user_8f2"
}

/** The shell variable for later samples, and the pattern whose first match in the response it holds. */
const CAPTURES: Readonly<Record<string, readonly [variable: string, pattern: string]>> = {
  createMandate: ["MANDATE_ID", "mnd_[0-9a-z]*"],
  createApprovalSession: ["APPROVAL_URL", 'http[^"]*/approve/[^"]*'],
  createAuthorization: ["AUTHORIZATION_ID", "aut_[0-9a-z]*"],
  createWebhookEndpoint: ["WEBHOOK_ENDPOINT_ID", "whe_[0-9a-z]*"],
  listWebhookDeliveries: ["DELIVERY_ID", "dlv_[0-9a-z]*"],
  listPasskeys: ["PASSKEY_ID", "psk_[0-9a-z]*"]
}

/**
 * The end of the present second: not every `date` knows parts of one, and the beginning would be before an authorization that
 * was made within it.
 */
const NOW = "$(date -u +%Y-%m-%dT%H:%M:%S.999Z)"
const BASE64URL = "openssl base64 -A | tr '+/' '-_' | tr -d '='"

/** Members that differ from request to request. */
const FROM_SHELL: Readonly<Record<string, string>> = {
  identity_assertion: "$IDENTITY_ASSERTION",
  return_state: "$(openssl rand -hex 16)",
  commitment: "$COMMITMENT",
  commitment_opening: "$OPENING",
  reported_accepted_at: NOW,
  reported_refunded_at: NOW
}

const addressesOf = ({ development }: SampleFacts): Readonly<Record<string, string>> =>
  development === undefined
    ? {}
    : { return_url: `${development.returnOrigin}/return`, url: "http://localhost:3000/webhooks" }

const COMMITMENT_LINES = [
  `OPENING=$(openssl rand 32 | ${BASE64URL})`,
  "COMMITMENT=$({ printf 'svc:authorization:commitment:v1\\n'",
  `  printf '%s=' "$OPENING" | tr -- '-_' '+/' | openssl base64 -A -d; } |`,
  `  openssl dgst -sha256 -binary | ${BASE64URL})`
]

const ASSERTION_LINE = "IDENTITY_ASSERTION=$(npm run --silent assertion -- user_8f2)"

const preludeOf = (operationId: string, facts: SampleFacts): ReadonlyArray<string> => {
  if (operationId === "createAuthorization") return COMMITMENT_LINES
  return operationId === "createApprovalSession" && facts.development !== undefined ? [ASSERTION_LINE] : []
}

const approvalNote = ({ development }: SampleFacts): string =>
  development === undefined
    ? "`IDENTITY_ASSERTION` is a JWT that your backend signs for the user. Send the user to `$APPROVAL_URL`."
    : 'Run it in the folder of the development server, which vouches for `user_8f2`. Then approve the mandate: open the address in `$APPROVAL_URL` in a browser, or run `npm run --silent approve -- "$APPROVAL_URL"`.'

/** A note on a sample, in Markdown. Not a comment in the sample, since interactive zsh does not accept comments. */
export const sampleNoteOf = (operationId: string, facts: SampleFacts): string | undefined => {
  switch (operationId) {
    case "createApprovalSession":
      return approvalNote(facts)
    case "createAuthorization":
      return "The mandate must be approved. `OPENING` is 32 random bytes that you keep until you commit; `COMMITMENT` is the commitment to them."
    case "cancelAuthorization":
      return "An authorization that was committed cannot be cancelled: propose another one first."
    case "revokeMandate":
      return "Nothing can be proposed under the mandate after this: run it last."
    default:
      return undefined
  }
}

/** A list with a single string, which is printed on one line. */
const LIST_OF_ONE = /\[\s+("[^"]*")\s+\]/gu

const bodyOf = (operationId: string, facts: SampleFacts): string | undefined => {
  const example = REQUEST_EXAMPLES[operationId]
  if (example === undefined) return undefined
  const text = JSON.stringify(
    { ...example, ...pick(example, { ...FROM_SHELL, ...addressesOf(facts) }) },
    null,
    2
  )
  return text.replaceAll(LIST_OF_ONE, "[$1]")
}

const pick = (members: object, values: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(members, name)))

const urlOf = (path: string, { baseUrl }: SampleFacts): string => {
  const url = baseUrl + path.replaceAll(/\{(\w+)\}/gu, (_, name: string) => VARIABLES[name] ?? name)
  return url.includes("$") ? `"${url}"` : url
}

const keyOf = ({ apiKey }: SampleFacts): string => apiKey ?? "$SVC_API_KEY"

const callLines = (operation: SampledOperation, facts: SampleFacts): ReadonlyArray<string> => {
  const method = operation.method.toUpperCase()
  const body = bodyOf(operation.operationId, facts)
  const isPlainGet = method === "GET" || (method === "POST" && body !== undefined)
  return [
    `curl -sS ${isPlainGet ? "" : `-X ${method} `}${urlOf(operation.path, facts)}`,
    ...(operation.needsApiKey ? [`-H "Authorization: Bearer ${keyOf(facts)}"`] : []),
    ...(operation.takesIdempotencyKey ? ['-H "Idempotency-Key: $(openssl rand -hex 16)"'] : []),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', "-d @- <<JSON"])
  ]
}

/** Shell commands that make the call and print the response, for POSIX shells, bash and zsh. */
export const sampleOf = (operation: SampledOperation, facts: SampleFacts): string => {
  const call = callLines(operation, facts).join(" \\\n  ")
  const body = bodyOf(operation.operationId, facts)
  const document = body === undefined ? "" : `\n${body}\nJSON`
  const kept = CAPTURES[operation.operationId]
  const lines = preludeOf(operation.operationId, facts)
  if (kept === undefined) return [...lines, call + document].join("\n")
  const [variable, pattern] = kept
  return [
    ...lines,
    `ANSWER=$(${call}${document}${body === undefined ? "" : "\n"})`,
    `printf '%s\\n' "$ANSWER"`,
    `${variable}=$(printf '%s' "$ANSWER" | grep -o '${pattern}' | head -n 1)`
  ].join("\n")
}
