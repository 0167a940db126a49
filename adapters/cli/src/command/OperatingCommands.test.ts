import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Organizations } from "@svc/domain/ports/Organizations"
import { fakeAwsKms } from "@svc/kms/test/FakeAwsKms"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { preparedStore } from "@svc/store-postgres/test/PreparedPglite"
import { ConfigProvider, Console, Effect, Result } from "effect"
import { vi } from "vitest"
import { besideStore, makeSampleData } from "../../test/SampleData.ts"
import { CheckFailed } from "../start/RunCommand.ts"
import { StartFault } from "../start/StartFault.ts"
import { apiKeyCommands } from "./ApiKeyCommands.ts"
import { archiveCommands } from "./ArchiveCommands.ts"
import { historyCommands } from "./HistoryCommands.ts"
import { masterKeyCommands } from "./MasterKeyCommands.ts"
import { operatorLogCommands } from "./OperatorLogCommands.ts"
import { organizationCommands } from "./OrganizationCommands.ts"
import { purgeCommands } from "./PurgeCommand.ts"
import { redeliveryCommands } from "./RedeliveryCommands.ts"
import { signingKeyCommands } from "./SigningKeyCommands.ts"
import { runStoreCommand } from "./StoreCommand.ts"
import { supportCommands } from "./SupportCommands.ts"
import { svc } from "./SvcCommand.ts"
import { StandardInput } from "./WebhookCommands.ts"

/*
 * The commands under "Commands" in docs/configuration.md, as they stand there, in the live environment.
 */

const PAGE = readFileSync(new URL("../../../../docs/configuration.md", import.meta.url), "utf8")

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-operate-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true }))
)

/** The lines of the block, each as its words: without comments, what is continued on one line, without quotes. */
const commandsOf = (text: string): ReadonlyArray<ReadonlyArray<string>> => {
  const section = text.slice(text.indexOf("\n## Commands"))
  const block = /```text\n(?<lines>[\s\S]*?)```/u.exec(section)?.groups?.lines ?? ""
  return block
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/\s#.*$/u, "").trim())
    .filter((line) => line !== "" && !line.startsWith("svc() "))
    .map((line) => (line.match(/"[^"]*"|\S+/gu) ?? []).map((word) => word.replaceAll('"', "")))
}

const TIMEOUT_MILLISECONDS = 120_000

const LIVE = {
  SVC_ENVIRONMENT: "live",
  SVC_MASTER_KEY: "A".repeat(43),
  SVC_MASTER_KEY_PREVIOUS: `B${"A".repeat(42)}`,
  SVC_WEBHOOK_SECRET: `svc_wh_${"A".repeat(43)}`
}

const STORE_COMMANDS = [
  ...organizationCommands,
  ...apiKeyCommands,
  ...signingKeyCommands,
  ...masterKeyCommands,
  ...operatorLogCommands,
  ...supportCommands,
  ...redeliveryCommands,
  ...archiveCommands,
  ...purgeCommands,
  ...historyCommands
]

/** What is printed, for nobody. */
const SILENT: Console.Console = { ...console, log: () => undefined }

/**
 * A command that does not open the store by itself: what it is given must be known. Without `SVC_STORE` it goes no further,
 * unless it needs no settings.
 */
const isUnderstood = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  const redirected = words.findIndex((word) => word === "<" || word === ">")
  const given = redirected < 0 ? words : words.slice(0, redirected)
  const ended = yield* Effect.result(Effect.provideService(svc(given).run, Console.Console, SILENT))
  if (Result.isSuccess(ended))
    return assert.include(
      ["completion", "evidence viewer"],
      words[0] === "completion" ? words[0] : given.join(" ")
    )
  const { failure } = ended
  if (failure instanceof StartFault)
    assert.strictEqual(failure.exitCode, 78, `${words.join(" ")}: ${failure.line}`)
  else assert.instanceOf(failure, CheckFailed)
})

async function* nothing(): AsyncGenerator<Uint8Array> {}

describe("docs/configuration.md: the operating commands", () => {
  it.live(
    "run as they are written, in the live environment",
    () =>
      Effect.gen(function* () {
        const commands = commandsOf(PAGE)
        assert.isAbove(commands.length, 10)
        const place = yield* folder
        const kms = yield* fakeAwsKms
        vi.stubEnv("AWS_ENDPOINT_URL_KMS", kms.endpoint)
        vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret")
        const file = (name: string, text: string) => {
          writeFileSync(join(place, name), text)
          return join(place, name)
        }
        const filled: Record<string, string> = {
          "public-keys.json": file(
            "public-keys.json",
            JSON.stringify({
              keys: [generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" })]
            })
          ),
          secret: file("secret", LIVE.SVC_WEBHOOK_SECRET),
          "aws-kms:arn:aws:kms:...": `aws-kms:${kms.addKey().arn}`
        }
        const context = yield* Effect.context<PostgresPorts>()
        const ran: Array<string> = []
        for (const [program, ...words] of commands) {
          assert.strictEqual(program, "svc")
          const given = words.map((word) => filled[word] ?? word)
          const command = STORE_COMMANDS.find(({ name }) => `${words.join(" ")} `.startsWith(`${name} `))
          if (command === undefined) {
            yield* isUnderstood(given)
            continue
          }
          const answer: Readonly<Record<string, unknown>> = JSON.parse(
            JSON.stringify(
              yield* runStoreCommand(
                command,
                given.slice(command.name.split(" ").length),
                Effect.provideContext(context)
              )
            )
          )
          ran.push(command.name)
          if (command.name === "organization create") {
            const id = String(answer.organization_id)
            const organization = yield* Effect.flatMap(Organizations, (store) => store.find(id))
            // The ports of the sample data are of the test environment.
            const made = yield* Effect.provide(
              makeSampleData({ ...organization!, environment: "test" }),
              besideStore
            )
            filled["org_..."] = id
            filled["mnd_..."] = made.mandate
            filled["aut_..."] = made.authorization
            filled["whe_..."] = made.endpoint
          }
          if (command.name === "signing-key rotate") filled.KID = String(answer.kid)
          if (command.name === "api-key create") filled["key_..."] = String(answer.api_key_id)
        }
        assert.includeMembers(ran, [
          "organization create",
          "organization update",
          "api-key create",
          "api-key list",
          "api-key revoke",
          "signing-key rotate",
          "signing-key withdraw",
          "master-key rewrap",
          "operator-log",
          "mandate list",
          "event list",
          "store acknowledge-history"
        ])
      }).pipe(
        Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: LIVE })),
        Effect.provideService(StandardInput, nothing()),
        Effect.provide(preparedStore),
        Effect.scoped
      ),
    TIMEOUT_MILLISECONDS
  )
})
