import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Organizations } from "@svc/domain/ports/Organizations"
import { SigningKeyRecords, signingKeyAt } from "@svc/domain/ports/SigningKeyRecords"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { preparedStore } from "@svc/store-postgres/test/PreparedPglite"
import { harnessOrganization, makeCaller } from "@svc/testkit/ProgramHarness"
import { ConfigProvider, Console, Effect, Layer, Redacted } from "effect"
import { awsKmsInEnvironment } from "../../test/AwsKmsInEnvironment.ts"
import { besideStore, monthlyBody } from "../../test/SampleData.ts"
import { masterKeyConfig } from "../config/Config.ts"
import { pendingKeyCheck, signingFacts, signingKeyCheck } from "../doctor/KeyChecks.ts"
import type { StartFault } from "../start/StartFault.ts"
import { archiveCommands } from "./ArchiveCommands.ts"
import { masterKeyCommands } from "./MasterKeyCommands.ts"
import { masterKeyCreateCommand } from "./MasterKeyCreateCommand.ts"
import { signingKeyCommands } from "./SigningKeyCommands.ts"
import { runStoreCommand } from "./StoreCommand.ts"

const PLAIN = "A".repeat(43)

const withEnv = (env: Readonly<Record<string, string>>) =>
  Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))

const run = Effect.fnUntraced(function* (
  name: string,
  words: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>
) {
  const command = [...masterKeyCommands, ...signingKeyCommands, ...archiveCommands].find(
    (one) => one.name === name
  )!
  const context = yield* Effect.context<PostgresPorts>()
  const answer = yield* runStoreCommand(command, words, Effect.provideContext(context)).pipe(withEnv(env))
  return answer as Readonly<Record<string, unknown>>
})

const faultOf = <A, R>(attempt: Effect.Effect<A, StartFault, R>) =>
  Effect.map(Effect.flip(attempt), ({ exitCode, line }) => `${exitCode} ${line}`)

const createMasterKey = Effect.fnUntraced(function* (name: string) {
  const lines: Array<string> = []
  const printing: Console.Console = { ...console, log: (line: string) => void lines.push(line) }
  yield* Effect.provideService(masterKeyCreateCommand.run(["--kms", name]), Console.Console, printing)
  return lines.join("\n")
})

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-archive-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true }))
)

/** Archives the one mandate of the one organization, which has ended. */
const archiveOne = Effect.fnUntraced(function* (env: Readonly<Record<string, string>>) {
  const caller = makeCaller(harnessOrganization())
  yield* (yield* Organizations).put(caller.organization)
  const { resource } = yield* caller.create(monthlyBody())
  yield* caller.revoke(resource.id)
  const ended = ["--ended-before", "2099-01-01T00:00:00Z", "--to", yield* folder]
  return run("mandate archive", ["--organization", caller.organization.id, ...ended], env)
})

layer(Layer.merge(preparedStore, besideStore), {
  excludeTestServices: true,
  timeout: "120 seconds"
})("with keys in a KMS", (it) => {
  it.effect("master and signing keys are made, rotated, examined and withdrawn", () =>
    Effect.gen(function* () {
      const kms = yield* awsKmsInEnvironment
      const symmetric = kms.addKey({ spec: "SYMMETRIC_DEFAULT", usage: "ENCRYPT_DECRYPT" })
      const encrypted = yield* createMasterKey(`aws-kms:${symmetric.arn}`)
      const env = { SVC_MASTER_KEY: encrypted }
      assert.lengthOf(Redacted.value((yield* masterKeyConfig.pipe(withEnv(env))).current), 32)

      kms.always = { status: 500, type: "KMSInternalException" }
      assert.match(yield* faultOf(masterKeyConfig.pipe(withEnv(env))), /^75 SVC_MASTER_KEY: arn:/u)
      kms.always = { status: 400, type: "AccessDeniedException" }
      assert.match(yield* faultOf(masterKeyConfig.pipe(withEnv(env))), /^78 SVC_MASTER_KEY: .*kms:Decrypt/u)
      kms.always = undefined

      const [first, second, third] = [kms.addKey(), kms.addKey(), kms.addKey()]
      kms.alias("next", second)
      const named = ({ arn }: { readonly arn: string }) => ["--kms", `aws-kms:${arn}`]
      const rotated = yield* run("signing-key rotate", named(first), env)
      const list = yield* (yield* SigningKeyRecords).list
      assert.strictEqual(signingKeyAt(list.keys, list.now)?.publicJwk.kid, rotated.kid)
      assert.notInclude(JSON.stringify(list.keys.map(({ sealed }) => sealed)), first.arn)

      const archiving = yield* archiveOne(env)
      first.state = "Disabled"
      assert.match(yield* faultOf(archiving), /^75 no signing key can be used now/u)
      first.state = "Enabled"
      assert.deepInclude(yield* archiving, { archived: 1, failed: [] })

      const refusals = [
        [[], /^64 the signing key is aws-kms:arn:.*--kms.*--stored/u],
        [named(first), /^64 this key is or was/u],
        [[...named(second), "--stored"], /^64 --kms and --stored/u],
        [["--kms", "gcp-kms:x"], /^78 .*must begin with aws-kms: or azure-key-vault:/u],
        [named(symmetric), /^78 .*arn/u],
        [named(kms.addKey({ spec: "ECC_NIST_P384" })), /^78 .*ECC_NIST_P384.*not ECC_NIST_P256/u]
      ] as const
      for (const [words, message] of refusals)
        assert.match(yield* faultOf(run("signing-key rotate", words, env)), message)

      // An alias is recorded as the key that it names now.
      const next = yield* run("signing-key rotate", ["--kms", "aws-kms:alias/next"], env)
      const masterKeys = yield* masterKeyConfig.pipe(withEnv(env))
      const facts = yield* signingFacts(masterKeys)
      assert.include(signingKeyCheck.judge(facts).found, `aws-kms:${first.arn}`)
      assert.include(pendingKeyCheck.judge(facts).found, `aws-kms:${second.arn}`)
      first.state = "Disabled"
      second.state = "Disabled"
      const examined = yield* signingFacts(masterKeys)
      for (const { judge } of [signingKeyCheck, pendingKeyCheck]) {
        assert.strictEqual(judge(examined).status, "failed")
        assert.match(judge(examined).found, /is disabled/u)
      }

      // The names are sealed, so that they move to a new master key like everything else.
      yield* run("master-key rewrap", [], { SVC_MASTER_KEY: PLAIN, SVC_MASTER_KEY_PREVIOUS: encrypted })
      const withdrawal = [String(rotated.kid), "--reason", "stolen"]
      const plain = { SVC_MASTER_KEY: PLAIN }
      assert.match(
        yield* faultOf(run("signing-key withdraw", withdrawal, plain)),
        /^64 the signing key is aws/u
      )
      const withdrawn = yield* run("signing-key withdraw", [...withdrawal, ...named(third)], plain)
      const { data } = (yield* run("signing-key list", [], {})) as {
        readonly data: ReadonlyArray<{ readonly kid: string; readonly state: string }>
      }
      const states = Object.fromEntries(data.map(({ kid, state }) => [kid, state]))
      assert.deepStrictEqual(states, {
        [String(rotated.kid)]: "withdrawn",
        [String(next.kid)]: "withdrawn",
        [String(withdrawn.signing_kid)]: "signing"
      })
      yield* run("signing-key rotate", ["--stored", "--now"], plain)
      yield* run("signing-key rotate", ["--now"], plain)
    }).pipe(Effect.scoped)
  )
})
