import { generateKeyPairSync, randomBytes } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it, layer } from "@effect/vitest"
import { instantOf } from "@svc/domain/mandate/PreparedTerms"
import { apiKeyHash, isActiveApiKey } from "@svc/domain/organization/ApiKey"
import { type OperatorEntry, OperatorLog } from "@svc/domain/ports/OperatorLog"
import { Organizations } from "@svc/domain/ports/Organizations"
import { SigningKeyRecords } from "@svc/domain/ports/SigningKeyRecords"
import { formatNanos, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { preparedStore } from "@svc/store-postgres/test/PreparedPglite"
import { ConfigProvider, Effect, Redacted } from "effect"
import { apiKeyCommands } from "./ApiKeyCommands.ts"
import { historyCommands } from "./HistoryCommands.ts"
import { operatorLogCommands } from "./OperatorLogCommands.ts"
import { organizationCommands } from "./OrganizationCommands.ts"
import { SIGNING_DELAY_SECONDS, signingKeyCommands } from "./SigningKeyCommands.ts"
import { printedText, runStoreCommand } from "./StoreCommand.ts"

const MASTER_KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

const ENV = { SVC_ENVIRONMENT: "test", SVC_MASTER_KEY: MASTER_KEY }

const COMMANDS = [
  ...organizationCommands,
  ...apiKeyCommands,
  ...signingKeyCommands,
  ...operatorLogCommands,
  ...historyCommands
]

describe("what is printed as JSON", () => {
  it("holds nothing that a terminal obeys, and the same value", () => {
    const answer = { text: "\u001b[2J\u009b2J\u007f\u202e\u2028\u{e0001}\n\u00e9", list: ["plain"] }
    const text = printedText({}, [], answer)
    assert.match(text, /^[\n\u0020-\u007e\u00e9]+$/u)
    assert.deepStrictEqual(JSON.parse(text), answer)
  })
})

const newFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-command-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

const keySetFile = Effect.fnUntraced(function* (key: object) {
  const path = join(yield* newFolder, "jwks.json")
  writeFileSync(path, JSON.stringify({ keys: [key] }))
  return path
})

interface Env {
  readonly [name: string]: string
}

/** Runs a command on the store at hand and gives its answer. */
const run = Effect.fnUntraced(function* (text: string, options: ReadonlyArray<string> = [], env: Env = {}) {
  const command = COMMANDS.find(({ name }) => name === text)
  if (command === undefined) return yield* Effect.die(new Error(`there is no ${text}`))
  const context = yield* Effect.context<PostgresPorts>()
  const answer = yield* runStoreCommand(command, options, Effect.provideContext(context)).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { ...ENV, ...env } }))
  )
  // biome-ignore lint/suspicious/noExplicitAny: the tests look at what comes out.
  return JSON.parse(JSON.stringify(answer)) as any
})

const faultOf = (...given: Parameters<typeof run>) =>
  Effect.map(Effect.flip(run(...given)), ({ exitCode, line }) => [exitCode, line] as const)

/** Runs something on the same store, and gives what it left in the operator log. */
const logged = Effect.fnUntraced(function* <A, E>(work: Effect.Effect<A, E, PostgresPorts>) {
  const log = yield* OperatorLog
  const entries: Array<OperatorEntry> = []
  const record = (entry: OperatorEntry) => {
    entries.push(entry)
    return log.record(entry)
  }
  yield* Effect.exit(Effect.provideService(work, OperatorLog, OperatorLog.of({ ...log, record })))
  return entries
})

layer(preparedStore, { excludeTestServices: true, timeout: "120 seconds" })(
  "svc commands on the store:",
  (it) => {
    it.effect("svc organization create makes an organization that svc organization show prints", () =>
      Effect.gen(function* () {
        const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
        const jwks = yield* keySetFile(publicKey.export({ format: "jwk" }))
        const made = yield* run("organization create", [
          ...["--name", "Shop", "--return-origin", "https://shop.example", "--json"],
          ...[
            "--identity-issuer",
            "https://id.example",
            "--identity-audience",
            "svc",
            "--identity-jwks",
            jwks
          ]
        ])
        assert.match(made.organization_id, /^org_/u)
        assert.deepStrictEqual(made.identity.algorithms, ["ES256"])
        assert.strictEqual(made.report_grace_seconds, 0)
        const of = ["--organization", made.organization_id]
        assert.deepStrictEqual(yield* run("organization show", of), made)
        const organizations = yield* Organizations
        const found = yield* organizations.find(made.organization_id)
        assert.deepStrictEqual(found?.returnOrigins, ["https://shop.example"])
      })
    )

    it.effect("svc organization create stores the address of the key set for identity assertions", () =>
      Effect.gen(function* () {
        const uri = "https://id.example/keys?v=1"
        const identity = ["--identity-issuer", "https://id.example", "--identity-audience", "svc"]
        const made = yield* run("organization create", [
          ...["--name", "Shop", ...identity, "--identity-jwks-uri", uri]
        ])
        assert.strictEqual(made.identity.jwks_uri, uri)
        assert.deepStrictEqual(
          yield* run("organization show", ["--organization", made.organization_id]),
          made
        )
        const found = yield* (yield* Organizations).find(made.organization_id)
        assert.deepStrictEqual(found?.identity?.keys, { jwksUri: uri })
      })
    )

    it.effect("svc organization create stores the passkey enrolment, FIRST_USE by default", () =>
      Effect.gen(function* () {
        const organizations = yield* Organizations
        for (const [options, expected] of [
          [[], "FIRST_USE"],
          [["--passkey-enrolment", "FIRST_USE"], "FIRST_USE"],
          [["--passkey-enrolment", "CALLER_ALLOWED"], "CALLER_ALLOWED"]
        ] as const) {
          const made = yield* run("organization create", ["--name", "Shop", ...options])
          assert.strictEqual(made.passkey_enrolment, expected)
          const shown = yield* run("organization show", ["--organization", made.organization_id])
          assert.strictEqual(shown.passkey_enrolment, expected)
          assert.strictEqual((yield* organizations.find(made.organization_id))?.passkeyEnrolment, expected)
        }
        const { help } = COMMANDS.find(({ name }) => name === "organization create")!
        for (const word of ["--passkey-enrolment", "FIRST_USE", "CALLER_ALLOWED", "svc_enrol"]) {
          assert.include(help, word)
        }
      })
    )

    it.effect("svc organization update changes the given settings and keeps the others", () =>
      Effect.gen(function* () {
        const identity = ["--identity-issuer", "https://id.example", "--identity-audience", "svc"]
        const uri = "https://id.example/keys"
        const made = yield* run("organization create", [
          ...["--name", "Shop", "--return-origin", "https://shop.example", "--billing-account", "ba_1"],
          ...[...identity, "--identity-jwks-uri", uri, "--identity-algorithm", "EdDSA"]
        ])
        const of = ["--organization", made.organization_id]
        const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" })
        const jwks = yield* keySetFile(key)
        const keys = [key]
        let expected = made
        for (const [options, change] of [
          [["--name", "Shop & Sons"], { name: "Shop & Sons" }],
          [["--billing-account", "ba_2"], { billing_account_reference: "ba_2" }],
          [["--report-grace-seconds", "60"], { report_grace_seconds: 60 }],
          [["--passkey-enrolment", "CALLER_ALLOWED"], { passkey_enrolment: "CALLER_ALLOWED" }],
          [
            ["--return-origin", "https://a.example", "--return-origin", "http://localhost:3000"],
            { return_origins: ["https://a.example", "http://localhost:3000"] }
          ],
          [["--identity-audience", "other"], { identity: { ...made.identity, audience: "other" } }],
          [
            ["--identity-jwks", jwks, "--identity-algorithm", "ES256"],
            {
              identity: {
                issuer: "https://id.example",
                audience: "other",
                algorithms: ["ES256"],
                jwks: { keys }
              }
            }
          ]
        ] as const) {
          expected = { ...expected, ...change }
          assert.deepStrictEqual(yield* run("organization update", [...of, ...options, "--json"]), expected)
          assert.deepStrictEqual(yield* run("organization show", of), expected)
        }
        // The keys that stay are of none of these algorithms.
        const [code, line] = yield* faultOf("organization update", [...of, "--identity-algorithm", "RS256"])
        assert.strictEqual(code, 64)
        assert.include(line, "RS256")
        const [entry] = yield* logged(run("organization update", [...of, "--name", "Shop"]))
        assert.deepInclude(entry, { organization: made.organization_id, command: "organization update" })
        assert.deepStrictEqual(entry?.arguments, [...of, "--name", "Shop"])
      })
    )

    it.effect("svc organization update refuses what create refuses, and then changes nothing", () =>
      Effect.gen(function* () {
        const made = yield* run("organization create", ["--name", "Shop"])
        const of = ["--organization", made.organization_id]
        for (const [options, told] of [
          [["--name", "a\u0007"], "--name must have"],
          [["--report-grace-seconds", "3601"], "--report-grace-seconds must be 0 to 3600"],
          [["--return-origin", "http://shop.example"], "--return-origin must be an https origin"],
          [["--passkey-enrolment", "never"], "--passkey-enrolment must be one of"],
          [["--identity-issuer", "i", "--identity-audience", "a"], "one of --identity-jwks and an https"],
          [["--identity-jwks-uri", "http://localhost/jwks"], "--identity-issuer is missing"],
          [[], "no setting is named"],
          [["--name", "x", "--name", "y"], "--name is given twice"]
        ] as const) {
          const [code, line] = yield* faultOf("organization update", [...of, ...options])
          assert.strictEqual(code, 64)
          assert.isTrue(line.startsWith(told), line)
        }
        const live = yield* faultOf("organization update", [...of, "--name", "x"], {
          SVC_ENVIRONMENT: "live"
        })
        assert.deepStrictEqual(live, [64, "the organization is of another environment"])
        assert.deepStrictEqual(yield* run("organization show", of), made)
      })
    )

    it.effect("svc organization accepts a key set at a loopback address only where servers do", () =>
      Effect.gen(function* () {
        const options = [
          ...["--name", "Shop", "--identity-issuer", "i", "--identity-audience", "a"],
          ...["--identity-jwks-uri", "http://localhost:3000/jwks"]
        ]
        assert.match(
          (yield* faultOf("organization create", options))[1],
          /with SVC_WEBHOOK_ALLOW_LOOPBACK=true, in the test environment/u
        )
        const allowed = { SVC_WEBHOOK_ALLOW_LOOPBACK: "true" }
        const made = yield* run("organization create", options, allowed)
        assert.strictEqual(made.identity.jwks_uri, "http://localhost:3000/jwks")
      })
    )

    it.effect("svc api-key creates, lists and revokes API keys", () =>
      Effect.gen(function* () {
        const { organization_id } = yield* run("organization create", ["--name", "Shop"])
        const of = ["--organization", organization_id]
        const key = yield* run("api-key create", [...of, "--scope", "read"])
        assert.deepStrictEqual(key.scopes, ["read"])
        assert.match(key.api_key, /^svc_test_/u)
        const { api_key: _, ...listed } = key
        assert.deepStrictEqual(yield* run("api-key list", of), { data: [listed] })
        const named = [...of, "--api-key", key.api_key_id]
        const revoked = yield* run("api-key revoke", named)
        assert.match(revoked.revoked_at, /^20/u)
        assert.deepStrictEqual(yield* run("api-key revoke", named), revoked)
        const organizations = yield* Organizations
        const found = yield* organizations.findApiKey(apiKeyHash(Redacted.make(key.api_key)))
        assert.strictEqual(found?.apiKey.revokedAt, revoked.revoked_at)
      })
    )

    it.effect("svc api-key rotate gives another key, and lets the old one go on for the overlap", () =>
      Effect.gen(function* () {
        const { organization_id } = yield* run("organization create", ["--name", "Shop"])
        const of = ["--organization", organization_id]
        const old = yield* run("api-key create", [...of, "--scope", "read", "--scope", "webhooks"])
        const named = [...of, "--api-key", old.api_key_id]
        const rotated = yield* run("api-key rotate", [...named, "--overlap", "7d"])
        assert.deepStrictEqual(rotated.scopes, ["read", "webhooks"])
        assert.isUndefined(rotated.expires_at)
        const from = instantOf(rotated.created_at)
        assert.strictEqual(instantOf(rotated.replaced.expires_at) - from, 7n * 86_400n * NANOS_PER_SECOND)
        const { data } = yield* run("api-key list", of)
        const { api_key: secret, replaced, ...listed } = rotated
        assert.deepStrictEqual(data, [replaced, listed])
        const organizations = yield* Organizations
        for (const key of [old.api_key, secret]) {
          const found = yield* organizations.findApiKey(apiKeyHash(Redacted.make(key)))
          assert.isTrue(isActiveApiKey(found!.apiKey, found!.now))
        }
        yield* run("api-key revoke", named)
        assert.deepStrictEqual(yield* faultOf("api-key rotate", named), [
          64,
          "the key is revoked or has expired; svc api-key create makes another"
        ])
      })
    )

    it.effect("svc api-key rotate leaves a key that is being replaced, and its end, as they are", () =>
      Effect.gen(function* () {
        const { organization_id } = yield* run("organization create", ["--name", "Shop"])
        const of = ["--organization", organization_id]
        const old = yield* run("api-key create", of)
        const named = [...of, "--api-key", old.api_key_id]
        const first = yield* run("api-key rotate", [...named, "--overlap", "7d"])
        assert.strictEqual(first.replaced.replaced_by, first.api_key_id)
        const before = yield* run("api-key list", of)
        for (const overlap of [[], ["--overlap", "0s"], ["--overlap", "90d"]]) {
          assert.deepStrictEqual(yield* faultOf("api-key rotate", [...named, ...overlap]), [
            64,
            `${first.api_key_id} replaces this key already, which is valid until ${first.replaced.expires_at}; rotate ${first.api_key_id}, or have svc api-key revoke end this one sooner`
          ])
        }
        assert.deepStrictEqual(yield* run("api-key list", of), before)
        // A key that was put in the place of another is rotated like any other, and has no end of its own.
        const second = yield* run("api-key rotate", [...of, "--api-key", first.api_key_id, "--overlap", "0s"])
        assert.isUndefined(second.expires_at)
        assert.deepStrictEqual(yield* faultOf("api-key rotate", [...of, "--api-key", first.api_key_id]), [
          64,
          "the key is revoked or has expired; svc api-key create makes another"
        ])
      })
    )

    it.effect("svc api-key rotate gives the new key as long a life, unless it says another", () =>
      Effect.gen(function* () {
        const { organization_id } = yield* run("organization create", ["--name", "Shop"])
        const of = ["--organization", organization_id]
        const old = yield* run("api-key create", [...of, "--expires-at", "2099-01-01T00:00:00Z"])
        const named = [...of, "--api-key", old.api_key_id, "--overlap", "90d"]
        const rotated = yield* run("api-key rotate", named)
        assert.strictEqual(
          instantOf(rotated.expires_at) - instantOf(rotated.created_at),
          instantOf(old.expires_at) - instantOf(old.created_at)
        )
        const until = "2098-01-01T00:00:00Z"
        const next = [...of, "--api-key", rotated.api_key_id]
        const other = yield* run("api-key rotate", [...next, "--expires-at", until])
        assert.strictEqual(other.expires_at, until)
        for (const overlap of ["91d", "1w", "-1s", "1.5h", "99999999d"]) {
          const [code, line] = yield* faultOf("api-key rotate", [...named.slice(0, -1), overlap])
          assert.strictEqual(code, 64, line)
        }
      })
    )

    it.effect("svc organization list prints every organization, in pages", () =>
      Effect.gen(function* () {
        const made = [
          yield* run("organization create", ["--name", "First"]),
          yield* run("organization create", ["--name", "Second", "--return-origin", "https://two.example"])
        ].map(({ organization_id: id }) => id as string)
        const seen: Array<string> = []
        let cursor: string | null = null
        do {
          const words: ReadonlyArray<string> = cursor === null ? [] : ["--cursor", cursor]
          const page = yield* run("organization list", ["--limit", "2", ...words])
          assert.isAtMost(page.data.length, 2)
          seen.push(...page.data.map((one: { readonly organization_id: string }) => one.organization_id))
          assert.strictEqual(page.has_more, page.next_cursor !== null)
          cursor = page.next_cursor
        } while (cursor !== null)
        assert.deepStrictEqual(seen, [...seen].sort())
        assert.includeMembers(seen, made)
        const command = COMMANDS.find(({ name }) => name === "organization list")!
        const answer = yield* run("organization list")
        assert.deepStrictEqual(JSON.parse(printedText(command, [], answer)), answer)
        assert.deepStrictEqual(JSON.parse(printedText(command, ["--json"], answer, true)), answer)
        const [headings, ...rows] = printedText(command, [], answer, true).split("\n")
        assert.match(headings!, /^ORGANIZATION +NAME +ENVIRONMENT +BILLING ACCOUNT +RETURN ORIGINS$/u)
        assert.strictEqual(rows.length, seen.length)
        const short = yield* run("organization list", ["--limit", "1"])
        assert.match(printedText(command, [], short, true), /\n\nmore: --cursor org_/u)
      })
    )

    it.effect(
      "svc api-key create refuses another environment, and a live key without a billing account",
      () =>
        Effect.gen(function* () {
          const live = { SVC_ENVIRONMENT: "live" }
          const create = ["--name", "Shop", "--report-grace-seconds", "60"]
          const test = yield* run("organization create", create)
          const other = yield* faultOf("api-key create", ["--organization", test.organization_id], live)
          assert.deepStrictEqual(other, [64, "the organization is of another environment"])
          const unpaid = yield* run("organization create", create, live)
          const [code, line] = yield* faultOf(
            "api-key create",
            ["--organization", unpaid.organization_id],
            live
          )
          assert.deepStrictEqual(
            [code, line],
            [
              64,
              `a live key needs a billing account; name it with: svc organization update --organization ${unpaid.organization_id} --billing-account <reference>`
            ]
          )
          const paid = yield* run("organization create", [...create, "--billing-account", "ba_1"], live)
          const key = yield* run("api-key create", ["--organization", paid.organization_id], live)
          assert.match(key.api_key, /^svc_live_/u)
        })
    )

    it.effect("every command is in the operator log before it acts, without secrets", () =>
      Effect.gen(function* () {
        const { organization_id } = yield* run("organization create", ["--name", "Shop"])
        const of = ["--organization", organization_id, "--json"]
        const key = yield* run("api-key create", of)
        const [entry] = yield* logged(run("api-key create", of))
        assert.deepInclude(entry, { organization: organization_id, command: "api-key create" })
        assert.deepStrictEqual(entry?.arguments, ["--organization", organization_id])
        assert.isAbove(entry?.operator.length ?? 0, 0)
        const [rotation] = yield* logged(run("signing-key list"))
        assert.deepInclude(rotation, { organization: "", command: "signing-key list", arguments: [] })
        const { data } = yield* run("operator-log", of)
        assert.deepStrictEqual(
          data.map((line: { readonly command: string }) => line.command),
          ["operator-log", "api-key create", "api-key create", "organization create"]
        )
        assert.deepInclude(data[1], { operator: entry?.operator, arguments: entry?.arguments })
        for (const { at } of data) assert.match(at, /T\d\d:\d\d:\d\d\.\d{9}Z$/u)
        assert.isTrue(data[0].at >= data[1].at && data[1].at >= data[2].at)
        const latest = yield* run("operator-log", ["--limit", "1"])
        assert.deepStrictEqual(
          latest.data.map((line: { readonly command: string }) => line.command),
          ["operator-log"]
        )
        for (const limit of ["0", "1001", "1e2", "-1"])
          assert.strictEqual((yield* faultOf("operator-log", [`--limit=${limit}`]))[0], 64)
        const [made] = yield* logged(run("organization create", ["--name", `of ${key.api_key}`]))
        assert.deepStrictEqual(made?.arguments, ["--name", "of [removed]"])
        // A key where its id belongs names none.
        const wrong = [...of, "--api-key", key.api_key]
        const [code, line] = yield* faultOf("api-key revoke", wrong)
        assert.deepStrictEqual(
          [code, line],
          [64, "no API key of this organization has that id; svc api-key list shows them"]
        )
        assert.deepStrictEqual(yield* logged(run("api-key revoke", wrong)), [])
      })
    )

    it.effect(
      "svc signing-key rotate publishes a new key under the master key that sealed the current one (part 7)",
      () =>
        Effect.gen(function* () {
          const states = Effect.map(run("signing-key list"), ({ data }) =>
            data.map((key: { readonly state: string }) => key.state)
          )
          // Nothing of a store without keys is lost: it is another one than was meant.
          const [code, line] = yield* faultOf("signing-key rotate", [
            "--now",
            "--master-key-lost",
            "--stored"
          ])
          assert.strictEqual(code, 64)
          assert.match(line, /^the store has no signing key that signs, .* names the right database$/u)
          assert.deepStrictEqual(yield* states, [])
          const first = yield* run("signing-key rotate")
          assert.deepStrictEqual(yield* states, ["signing"])
          assert.strictEqual(first.first, true)
          const next = yield* run("signing-key rotate")
          assert.notProperty(next, "first")
          const delay = Date.parse(next.signs_from) - Date.parse(first.signs_from)
          assert.isAtLeast(delay, Number(SIGNING_DELAY_SECONDS) * 1000)
          assert.deepStrictEqual(yield* states, ["signing", "pending"])
          const records = yield* SigningKeyRecords
          const pending = (yield* records.list).keys[1]
          const at = formatNanos(pending?.signsFrom ?? 0n)
          assert.deepStrictEqual(yield* faultOf("signing-key rotate"), [
            75,
            `the key ${next.kid} is published and signs from ${at}; rotate after that, or with --now`
          ])
          const other = { SVC_MASTER_KEY: `B${MASTER_KEY.slice(1)}` }
          assert.deepStrictEqual(yield* faultOf("signing-key rotate", ["--now"], other), [
            78,
            'the master key does not open the signing key that the store keeps: set the one that sealed it as SVC_MASTER_KEY; if it is lost for good, see --master-key-lost under --help, and go by "A lost master key" in docs/operate/keys.md'
          ])
          // Servers may have the one that is the previous one here as their only one.
          const previous = { ...other, SVC_MASTER_KEY_PREVIOUS: MASTER_KEY }
          for (const options of [[], ["--now"]]) {
            const [code, line] = yield* faultOf("signing-key rotate", options, previous)
            assert.strictEqual(code, 78)
            assert.match(
              line,
              /^SVC_MASTER_KEY does not open .*, or rotate with that one as SVC_MASTER_KEY$/u
            )
          }
          const last = yield* run("signing-key rotate", ["--now"], {
            SVC_MASTER_KEY_PREVIOUS: other.SVC_MASTER_KEY
          })
          assert.notStrictEqual(last.kid, next.kid)
          assert.deepStrictEqual(yield* states, ["retired", "withdrawn", "signing"])
          assert.isTrue((pending?.signsFrom ?? 0n) > 900n * NANOS_PER_SECOND)
        })
    )
  }
)

layer(preparedStore, { excludeTestServices: true, timeout: "120 seconds" })(
  "signing keys that were withdrawn",
  (it) => {
    it.effect("svc signing-key list says when each key was withdrawn, one that was pending too", () =>
      Effect.gen(function* () {
        yield* run("signing-key rotate")
        const pending = yield* run("signing-key rotate")
        const next = yield* run("signing-key rotate", ["--now"])
        yield* run("signing-key withdraw", ["--reason", "found", next.kid])
        const { data } = yield* run("signing-key list")
        const of = (kid: string) => data.find((key: { readonly kid: string }) => key.kid === kid)
        assert.deepInclude(of(pending.kid), { state: "withdrawn", withdrawn_at: of(next.kid).created_at })
        for (const { state, withdrawn_at } of data)
          assert.strictEqual(state === "withdrawn", withdrawn_at !== undefined)
      })
    )
  }
)

layer(preparedStore, { excludeTestServices: true, timeout: "120 seconds" })(
  "an operator after an incident",
  (it) => {
    const listed = Effect.map(run("signing-key list"), ({ data }) =>
      Object.fromEntries(
        data.map((key: { readonly kid: string; readonly state: string }) => [key.kid, key.state])
      )
    )

    it.effect(
      "svc signing-key withdraw replaces a compromised signing key at once and records why (part 7)",
      () =>
        Effect.gen(function* () {
          const first = yield* run("signing-key rotate")
          const pending = yield* run("signing-key rotate")
          const words = ["--reason", "found in a public repository", first.kid, "--json"]
          let answer = { kid: "", signing_kid: "", state: "" }
          const [entry] = yield* logged(
            Effect.tap(run("signing-key withdraw", words), (told) =>
              Effect.sync(() => {
                answer = told
              })
            )
          )
          assert.deepInclude(entry, {
            organization: "",
            command: "signing-key withdraw",
            arguments: words.slice(0, 3)
          })
          assert.deepInclude(answer, { kid: first.kid, state: "withdrawn" })
          assert.deepStrictEqual(yield* listed, {
            [first.kid]: "withdrawn",
            [pending.kid]: "withdrawn",
            [answer.signing_kid]: "signing"
          })
          const records = yield* SigningKeyRecords
          const { keys } = yield* records.list
          assert.deepStrictEqual(
            keys.map(({ sealed }) => sealed !== undefined),
            [false, false, true]
          )
          // Again, it is what it was.
          assert.deepStrictEqual(yield* run("signing-key withdraw", words), answer)
          assert.lengthOf((yield* records.list).keys, 3)
        })
    )

    it.effect(
      "svc signing-key withdraw takes a retired key out of the key set and leaves the signing key (part 7)",
      () =>
        Effect.gen(function* () {
          const before = yield* run("signing-key rotate", ["--now"])
          const { kid } = yield* run("signing-key rotate", ["--now"])
          const told = yield* run("signing-key withdraw", [before.kid, "--reason", "old backup lost"])
          assert.strictEqual(told.signing_kid, kid)
          assert.deepInclude(yield* listed, { [before.kid]: "withdrawn", [kid]: "signing" })
          const answer = yield* run("signing-key list")
          const command = COMMANDS.find(({ name }) => name === "signing-key list")!
          const [headings, ...rows] = printedText(command, [], answer).split("\n")
          assert.match(headings!, /^KID +STATE +CREATED +SIGNS FROM +WITHDRAWN$/u)
          assert.strictEqual(rows.length, answer.data.length)
          assert.isTrue(rows.some((row) => row.startsWith(`${before.kid}  withdrawn  `)))
          assert.deepStrictEqual(JSON.parse(printedText(command, ["--json"], answer)), answer)
        })
    )

    it.effect("a lost master key is said in so many words before a signing key is replaced without it", () =>
      Effect.gen(function* () {
        const lost = { SVC_MASTER_KEY: randomBytes(32).toString("base64url") }
        const found = { SVC_MASTER_KEY: randomBytes(32).toString("base64url") }
        const { data } = yield* run("signing-key list")
        const signing = data.find(({ state }: { readonly state: string }) => state === "signing")
        const instead = ["--master-key-lost", "--stored"]
        const withdrawal = [signing.kid, "--reason", "the vault burnt down"]
        // It is not lost while it is here, under either name.
        for (const keys of [{}, { ...lost, SVC_MASTER_KEY_PREVIOUS: MASTER_KEY }]) {
          for (const [name, words] of [
            ["signing-key withdraw", [...withdrawal, ...instead]],
            ["signing-key rotate", ["--now", ...instead]]
          ] as const) {
            const [code, line] = yield* faultOf(name, words, keys)
            assert.strictEqual(code, 64)
            assert.match(line, /opens the signing key, so it is not lost; leave out --master-key-lost$/u)
          }
        }
        const refused = [
          ["signing-key withdraw", withdrawal, 78, /^the master key does not open/u],
          ["signing-key withdraw", [...withdrawal, "--master-key-lost"], 64, /--kms, or .* --stored$/u],
          ["signing-key rotate", ["--now", "--master-key-lost"], 64, /--kms, or .* --stored$/u],
          ["signing-key rotate", instead, 64, /^--master-key-lost needs --now/u]
        ] as const
        for (const [name, words, exitCode, message] of refused) {
          const [code, line] = yield* faultOf(name, words, lost)
          assert.strictEqual(code, exitCode)
          assert.match(line, message)
        }
        assert.deepInclude(yield* listed, { [signing.kid]: "signing" })

        const rotated = yield* run("signing-key rotate", ["--now", ...instead], lost)
        assert.deepInclude(yield* listed, { [signing.kid]: "retired", [rotated.kid]: "signing" })
        // What the lost key alone opens is named.
        assert.include(rotated.lost_secrets, `signing key ${signing.kid}`)
        const [entry] = yield* logged(
          run("signing-key withdraw", [rotated.kid, "--reason", "burnt too", ...instead], found)
        )
        assert.include(entry?.arguments ?? [], "--master-key-lost")
        const states = yield* listed
        assert.strictEqual(states[rotated.kid], "withdrawn")
        // The new master key goes on as any other.
        const last = yield* run("signing-key rotate", ["--now"], found)
        assert.notProperty(last, "lost_secrets")
        yield* run("signing-key rotate", ["--now", ...instead])
      })
    )

    it.effect("svc signing-key withdraw reports missing and unknown arguments and changes nothing", () =>
      Effect.gen(function* () {
        const kid = "-".repeat(43)
        const [code, line] = yield* faultOf("signing-key withdraw", [kid, "--reason", "x"])
        assert.strictEqual(code, 64)
        assert.match(line, /^no signing key has this kid; svc signing-key list/u)
        assert.deepStrictEqual(yield* faultOf("signing-key withdraw", [kid]), [64, "--reason is missing"])
        const [, missing] = yield* faultOf("signing-key withdraw", ["--reason", "x"])
        assert.match(
          missing,
          /^the kid of the key is missing, or is none: svc signing-key withdraw <kid> --reason/u
        )
      })
    )

    it.effect("svc store acknowledge-history accepts a restored database and is in the operator log", () =>
      Effect.gen(function* () {
        const acknowledge = (...words: ReadonlyArray<string>) => run("store acknowledge-history", words)
        const unchanged = yield* acknowledge("--json")
        assert.strictEqual(unchanged.outcome, "unchanged")
        assert.match(unchanged.advice, /if it was restored, .* run this with --restored$/u)
        const [entry] = yield* logged(acknowledge("--restored"))
        assert.deepInclude(entry, { command: "store acknowledge-history", arguments: ["--restored"] })
        assert.notProperty(yield* acknowledge("--restored"), "advice")
        assert.notStrictEqual((yield* acknowledge()).history, unchanged.history)
        assert.deepStrictEqual(yield* faultOf("store acknowledge-history", ["--restored", "--lossless"]), [
          64,
          "--lossless and --restored exclude each other"
        ])
      })
    )
  }
)

describe("svc with invalid options", () => {
  const untouched = () => Effect.die(new Error("the store was opened"))
  const lineOf = (name: string, options: ReadonlyArray<string>, env: Env = {}) =>
    runStoreCommand(COMMANDS.find((command) => command.name === name)!, options, untouched).pipe(
      Effect.flip,
      Effect.map(({ exitCode, line }) => `${exitCode} ${line}`),
      Effect.provideService(
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromEnv({ env: { ...ENV, ...env } })
      )
    )

  it.effect("of organization commands fails before the store is opened", () =>
    Effect.gen(function* () {
      const jwks = yield* keySetFile({ kty: "EC", crv: "P-256", x: "x", y: "y", d: "d" })
      const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 1024 })
      const weak = yield* keySetFile(publicKey.export({ format: "jwk" }))
      const named = ["--name", "x", "--report-grace-seconds", "0"]
      const identity = [...named, "--identity-issuer", "i", "--identity-audience", "a"]
      for (const [options, told] of [
        [["--report-grace-seconds", "0"], "--name is missing"],
        [["--name", "x"], "--report-grace-seconds is missing"],
        [["--name", "x", "--report-grace-seconds", "3601"], "--report-grace-seconds must be 0 to 3600"],
        [[...named, "--return-origin", "http://localhost:3000"], "--return-origin must be an https"],
        [[...named, "--return-origin", "https://a.example/"], "--return-origin must be an https"],
        [identity, "one of --identity-jwks and an https"],
        [[...identity, "--identity-jwks-uri", "http://a.example"], "one of --identity-jwks and an https"],
        [[...identity, "--identity-jwks-uri", "https://10.0.0.1/"], "one of --identity-jwks and an https"],
        [[...identity, "--identity-jwks-uri", "https://a@b.example/"], "one of --identity-jwks and an https"],
        [[...identity, "--identity-jwks-uri", "https://localhost/"], "one of --identity-jwks and an https"],
        [[...identity, "--identity-jwks", jwks], "--identity-jwks: key 1 has members that only its owner"],
        [
          [...identity, "--identity-jwks", weak],
          "--identity-jwks: key 1 has a modulus of less than 2048 bits"
        ],
        [[...identity, "--identity-jwks", `${jwks}.none`], `--identity-jwks: ${jwks}.none cannot be read`],
        [[...named, "--identity-audience", "a"], "--identity-issuer is missing"],
        [[...named, "--passkey-enrolment", "never"], "--passkey-enrolment must be one of FIRST_USE"],
        [[...named, "surplus"], "a word is given that belongs to no option; see --help"]
      ] as const) {
        const line = yield* lineOf("organization create", options, { SVC_ENVIRONMENT: "live" })
        assert.isTrue(line.startsWith(`64 ${told}`), line)
      }
    })
  )

  it.effect("or settings of other commands fails before the store is opened", () =>
    Effect.gen(function* () {
      const of = ["--organization", "org_1"]
      assert.match(yield* lineOf("organization show", []), /^64 --organization is missing/u)
      assert.match(yield* lineOf("api-key create", [...of, "--scope", "all"]), /^64 --scope must be one of/u)
      assert.match(yield* lineOf("api-key create", [...of, "--expires-at", "soon"]), /^64 --expires-at must/u)
      assert.strictEqual(
        yield* lineOf("api-key revoke", []),
        "64 --api-key is missing\n--organization is missing"
      )
      assert.strictEqual(
        yield* lineOf("organization create", ["--identity-algorithm", "none"], { SVC_ENVIRONMENT: "" }),
        [
          "64 --name is missing",
          "--identity-issuer is missing",
          "--identity-audience is missing",
          "--identity-algorithm must be one of ES256, EdDSA, PS256, RS256",
          "one of --identity-jwks and an https --identity-jwks-uri, to a host name without a user name, says where the keys are (on this machine: with SVC_WEBHOOK_ALLOW_LOOPBACK=true, in the test environment)",
          "SVC_ENVIRONMENT is missing; it must be test or live"
        ].join("\n")
      )
      assert.match(
        yield* lineOf("signing-key rotate", [], { SVC_MASTER_KEY: "short" }),
        /^78 SVC_MASTER_KEY must be/u
      )
    })
  )
})
