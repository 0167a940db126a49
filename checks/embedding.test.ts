import { assert, describe, it } from "@effect/vitest"
import { type DomainRefusal, problemOfRefusal } from "@svc/domain/programs/RefusalProblem"
import * as Refusals from "@svc/domain/Refusals"
import { PROBLEM_CODES, PROBLEMS } from "@svc/protocol/Problem"
import type {
  ClientErrorCode,
  ExternalSigner,
  OrganizationSettings,
  ServiceLimits,
  ServiceOptions
} from "svc"
import type { pglite } from "svc/pglite"
import type { PostgresStoreOptions } from "svc/postgres"
import { markdownFiles } from "./Documents.ts"

/** The names of an options type, of a union those of each member; the compiler refuses one too few or too many. */
type Named<Options> = Readonly<Record<Options extends unknown ? keyof Options : never, true>>

const SERVICE: Named<ServiceOptions> = {
  environment: true,
  baseUrl: true,
  approvalUrl: true,
  rpId: true,
  store: true,
  masterKey: true,
  masterKeyPrevious: true,
  signer: true,
  organizations: true,
  authenticate: true,
  identify: true,
  clientAddress: true,
  logger: true,
  worker: true,
  docs: true,
  health: true,
  limits: true,
  webhookAllowLoopback: true
}

const LIMITS: Named<ServiceLimits> = {
  rateLimit: true,
  webhookRetentionDays: true,
  assertionRetentionDays: true,
  webhookAttempts: true
}

const SIGNER: Named<ExternalSigner> = { publicJwk: true, sign: true, published: true }

const ORGANIZATION: Named<OrganizationSettings> = {
  id: true,
  name: true,
  returnOrigins: true,
  identity: true,
  reportGraceSeconds: true,
  passkeyEnrolment: true,
  billingAccountReference: true
}

const PGLITE: Named<NonNullable<Parameters<typeof pglite>[0]>> = { folder: true }

const POSTGRES: Named<PostgresStoreOptions> = {
  url: true,
  pool: true,
  schema: true,
  migrations: true,
  readConnections: true,
  writeConnections: true,
  partitions: true
}

/** The codes without a status; those of the network and of webhooks are the client's matter. */
const OF_CALLS: Readonly<
  Record<Exclude<ClientErrorCode, "network_error" | "unexpected_response" | `webhook_${string}`>, true>
> = {
  invalid_argument: true,
  timeout: true,
  aborted: true,
  execution_not_allowed: true,
  execution_repeated: true
}

/** Refusals of use cases that no call runs. */
const OF_PAGE_AND_KEYS = new Set([
  "ApprovalSessionClosed",
  "ApprovalSessionBound",
  "PasskeyVerificationFailed",
  "ApiKeyInvalid",
  "BillingAccountRequired"
])

const page = (name: string): string =>
  markdownFiles().find(({ path }) => path === `docs/embedding/${name}`)?.text ?? ""

/** The cells of each row of the tables below a heading, without the head of a table. */
const rowsBelow = (text: string, heading: string): ReadonlyArray<ReadonlyArray<string>> => {
  const [, section = ""] = `\n${text}`.split(`\n${heading}\n`)
  const [own = ""] = section.split("\n## ")
  return [...own.matchAll(/^\| (.+) \|$/gmu)].slice(1).map(([, row = ""]) => row.split(" | "))
}

/** What a table calls an option: the name alone, or the name and the function that takes it. */
const ofFunction = (name: string, options: object): ReadonlyArray<string> =>
  Object.keys(options).map((option) => `\`${option}\` of \`${name}()\``)

describe("docs/embedding/options.md", () => {
  for (const [heading, names] of [
    ["## `createService`", Object.keys(SERVICE).map((name) => `\`${name}\``)],
    ["## Limits", Object.keys(LIMITS).map((name) => `\`${name}\``)],
    ["## A signing key of your own", Object.keys(SIGNER).map((name) => `\`${name}\``)],
    ["## Organizations", Object.keys(ORGANIZATION).map((name) => `\`${name}\``)],
    ["## Stores", [...ofFunction("pglite", PGLITE), ...ofFunction("postgres", POSTGRES)]]
  ] as const) {
    it(`has every option, and no other, below ${heading}`, () => {
      const rows = rowsBelow(page("options.md"), heading)
      assert.sameMembers(
        rows.map(([name]) => name),
        [...names]
      )
      for (const [name, ...cells] of rows) assert.lengthOf(cells, 3, name)
    })
  }
})

describe("docs/embedding/errors.md", () => {
  it("has every code with its status, whether it is retryable, and what to do", () => {
    const rows = ["## Codes of calls", "## Codes of HTTP alone"].flatMap((heading) =>
      rowsBelow(page("errors.md"), heading)
    )
    assert.sameMembers(
      rows.map(([status, code]) => `${status} ${code}`),
      PROBLEM_CODES.map(
        (code) => `${PROBLEMS[code].status} \`${code}\`${PROBLEMS[code].retryable ? " ✓" : ""}`
      )
    )
    for (const [, code, action = ""] of rows) assert.isAbove(action.length, 5, code)
  })

  it("has among the codes of calls what the use cases refuse, apart from those of the page and of API keys", () => {
    const refusals = Object.entries(Refusals).filter(([name]) => !OF_PAGE_AND_KEYS.has(name))
    const refused = refusals.map(([, Refusal]) => {
      const facts = { errors: [], detail: "", currentState: "", resourceId: "", needed: [] }
      return problemOfRefusal(new (Refusal as new (facts: object) => DomainRefusal)(facts)).code
    })
    assert.sameMembers(
      rowsBelow(page("errors.md"), "## Codes of calls").map(([, code = ""]) =>
        code.replaceAll(/[` ✓]/gu, "")
      ),
      [...new Set([...refused, "malformed_request", "internal_error", "store_unavailable"])]
    )
  })

  it("has every code without a status that a call may have", () => {
    const rows = rowsBelow(page("errors.md"), "## Codes of the calls' own options")
    assert.sameMembers(
      rows.map(([code = ""]) => code.replace(" ✓", "")),
      Object.keys(OF_CALLS).map((code) => `\`${code}\``)
    )
  })
})

describe("the documents", () => {
  it("never install or run a package of this repository by its name, which the public registry has from somebody else", () => {
    const command =
      /\b(?:npm (?:install|i|add|exec)|npx|(?:yarn|pnpm|bun) (?:add|dlx|x))\b[^`\n]*\s(?:svc|@svc\/[\w-]+)(?=[\s`@]|$)/gmu
    const installs = (text: string) => [...text.matchAll(command)].map(([line]) => line)
    assert.deepStrictEqual(
      markdownFiles().flatMap(({ path, text }) => installs(text).map((line) => `${path}: ${line}`)),
      []
    )
    const foreign = ["npm install svc", "npm i --save @svc/client", "npx svc serve", "pnpm add svc@1"]
    assert.deepStrictEqual(
      foreign.filter((line) => installs(line).length === 0),
      []
    )
    assert.deepStrictEqual(installs("npm install FOLDER/*.tgz"), [])
  })
})
