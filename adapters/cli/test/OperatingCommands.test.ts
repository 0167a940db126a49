import { execFile } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Organizations } from "@svc/domain/ports/Organizations"
import { type FakeAwsKms, fakeAwsKms } from "@svc/kms/test/FakeAwsKms"
import { webhookSignature } from "@svc/protocol/webhook/WebhookSignature"
import { serverConnection } from "@svc/store-postgres/connection/ServerConnection"
import { type PostgresPorts, layer as postgresStore } from "@svc/store-postgres/PostgresStore"
import { freePort, openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { makeCaller } from "@svc/testkit/ProgramHarness"
import { ConfigProvider, Console, Effect, Exit, Fiber, Layer, Redacted, Scope } from "effect"
import { afterAll, assert, beforeAll, describe, it, vi } from "vitest"
import { signerOf } from "../src/command/ArchiveCommands.ts"
import { Confirmation } from "../src/command/Confirmation.ts"
import { svc } from "../src/command/SvcCommand.ts"
import { StandardInput } from "../src/command/WebhookCommands.ts"
import { CheckFailed } from "../src/start/RunCommand.ts"
import { StartFault } from "../src/start/StartFault.ts"
import {
  commandsOf,
  type DocumentedCommand,
  nameOf,
  operatingPages,
  ROOT,
  wordsOf
} from "./DocumentedCommands.ts"
import { CREDENTIALS, REGION, startFakeBucket } from "./FakeBucket.ts"
import { besideStore, makeSampleData, monthlyBody } from "./SampleData.ts"

/*
 * The commands of docs/operate and of docs/configuration.md as they stand there, on one deployment in the live environment. What a
 * page gives and nothing below knows is run, so a command that cannot be run fails here until it is listed.
 */

const INSTALL = "docs/operate/install.md"
const CONFIGURATION = "docs/configuration.md"

/** The first makes the deployment, and the second leaves signing keys as the others expect them. */
const PAGES = [INSTALL, CONFIGURATION, ...operatingPages().filter((page) => page !== INSTALL)]

/** Commands of blocks that another test reads from the page and runs, by what they begin with. */
const RUN_ELSEWHERE: ReadonlyArray<{
  readonly page: string
  readonly begins: RegExp
  readonly test: string
}> = [
  { page: "docs/operate/backup.md", begins: /^/u, test: "adapters/store-postgres/test/Backup.test.ts" },
  {
    page: "docs/operate/failover.md",
    begins: /^(?:alter role|ignore_startup_parameters) /u,
    test: "adapters/store-postgres/test/PgBouncer.test.ts"
  },
  { page: INSTALL, begins: /^(?:create role|grant usage) /u, test: "scripts/pack/ImageRoot.test.ts" },
  {
    page: INSTALL,
    begins: /^(?:npm install |ln -sfn |\/opt\/svc\/)/u,
    test: "scripts/pack/PublishedPackages.test.ts"
  },
  { page: INSTALL, begins: /^sh -ec /u, test: "checks/deployment.test.ts" }
]

/** Commands that no test runs, and why. */
const RUN_NOWHERE: ReadonlyArray<{ readonly begins: RegExp; readonly why: string }> = [
  {
    begins: /^docker /u,
    why: "no container engine: scripts/pack/ImageRoot.test.ts starts what the image holds"
  },
  { begins: /^systemctl /u, why: "no systemd: checks/deployment.test.ts holds the unit to the command" },
  { begins: /^(?:kubectl|helm) /u, why: "no cluster: npm run check:chart renders the chart" },
  { begins: /^npm run check:chart$/u, why: "it fetches Helm and the types of Kubernetes" },
  {
    begins: /^npm run pack /u,
    why: "scripts/pack/SharedInstallation.ts packs by its functions, once for all tests"
  },
  { begins: /^npm (?:start|run|install)$/u, why: "not a command but what others are started by" }
]

const MASTER_KEY = "A".repeat(43)
const WEBHOOK_SECRET = `svc_wh_${"A".repeat(43)}`
const BODY = new TextEncoder().encode("{}")

/** Longest that a command which runs until it is stopped may take to say or answer something. */
const POLLS = 1200
const POLL_MILLISECONDS = 50
const PAGE_MILLISECONDS = 120_000

const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  for (let poll = 0; poll < POLLS; poll++) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS))
  }
  throw new Error(`${what}: nothing happened`)
}

const answers = (url: string) => async (): Promise<boolean> =>
  (await fetch(url).catch(() => undefined))?.status === 200

const database = await openTestDatabase()
const other = await openTestDatabase()

const place = mkdtempSync(join(tmpdir(), "svc-operate-"))
const scope = Scope.makeUnsafe()
let kms: FakeAwsKms
let settings: Readonly<Record<string, string>> = {}

/** What stands for something of the reader's own, by its word in the documents. */
const filled = new Map<string, string>()

const file = (name: string, content: string): string => {
  writeFileSync(join(place, name), content)
  return join(place, name)
}

interface Started {
  readonly fiber: Fiber.Fiber<unknown, unknown>
  readonly printed: () => string
}

const start = (words: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}): Started => {
  const lines: Array<unknown> = []
  const kept: Console.Console = {
    ...console,
    log: (line: unknown) => lines.push(line),
    error: (line: unknown) => lines.push(line)
  }
  const input = async function* () {
    yield BODY
  }
  const fiber = Effect.runFork(
    svc(words).run.pipe(
      Effect.provideService(Console.Console, kept),
      Effect.provideService(
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromEnv({ env: { ...settings, ...more } })
      ),
      Effect.provideService(StandardInput, input()),
      Effect.provideService(Confirmation, undefined)
    )
  )
  return { fiber, printed: () => lines.join("\n") }
}

interface Ended {
  readonly code: number
  readonly text: string
}

const run = async (words: ReadonlyArray<string>, more?: Readonly<Record<string, string>>): Promise<Ended> => {
  const { fiber, printed } = start(words, more)
  const exit = await Effect.runPromise(Fiber.await(fiber))
  if (Exit.isSuccess(exit)) return { code: 0, text: printed() }
  const failure = await Effect.runPromise(Effect.flip(Fiber.join(fiber)))
  if (failure instanceof CheckFailed) return { code: failure.exitCode ?? 1, text: printed() }
  if (failure instanceof StartFault) return { code: failure.exitCode, text: failure.line }
  throw failure
}

/** Programs on the deployment's database, as servers and callers run them. */
const onStore = <A, E>(
  work: Effect.Effect<A, E, PostgresPorts | Layer.Success<typeof besideStore>>
): Promise<A> =>
  Effect.runPromise(
    Effect.flatMap(serverConnection(Redacted.make(database!.url)), ({ options }) =>
      Effect.provide(work, Layer.merge(postgresStore({ ...options, migrations: "require" }), besideStore))
    )
  )

/** The organization as ports of the test environment have it, which those of the sample data are. */
const organizationOf = (id: string) =>
  Effect.flatMap(Organizations, (port) => port.find(id)).pipe(
    Effect.map((found) => ({ ...found!, environment: "test" as const }))
  )

/** A mandate that nobody approved, revoked once something was read of it. */
const makeEvidence = (id: string) =>
  onStore(
    Effect.gen(function* () {
      const caller = makeCaller(yield* organizationOf(id))
      const { resource: mandate } = yield* caller.create(monthlyBody())
      const earlier = yield* caller.evidence(mandate.id)
      yield* caller.revoke(mandate.id)
      return { mandate: mandate.id, earlier: JSON.stringify(earlier) }
    }).pipe(Effect.provide(signerOf({ current: Redacted.make(new Uint8Array(32)), previous: undefined })))
  )

/** What the examples name of an organization: a mandate, an authorization, an endpoint, and archived evidence of another mandate. */
const fillFrom = async (id: string): Promise<void> => {
  const sample = await onStore(Effect.flatMap(organizationOf(id), makeSampleData))
  const { earlier, mandate } = await makeEvidence(id)
  const archive = mkdtempSync(join(place, "archive-"))
  const ended = ["--ended-before", "2099-01-01T00:00:00Z", "--to", archive]
  const archived = await run(["mandate", "archive", "--organization", id, ...ended])
  assert.strictEqual(archived.code, 0, archived.text)
  const [evidence, keys] = ["evidence", "jwks"].map((what) => join(archive, id, mandate, `2.${what}.json`))
  for (const [word, value] of Object.entries({
    "org_...": id,
    "mnd_...": sample.mandate,
    "aut_...": sample.authorization,
    "whe_...": sample.endpoint,
    "earlier.json": file("earlier.json", earlier),
    "later.json": evidence!,
    "evidence.json": evidence!,
    "jwks.json": keys!,
    "https://api.example.com/.well-known/jwks.json": `http://127.0.0.1:${settings.SVC_PORT}/.well-known/jwks.json`,
    "5.evidence.json": evidence!,
    "5.jwks.json": keys!
  }))
    filled.set(word, value)
}

const newSigningKey = (): string => `aws-kms:${kms.addKey().arn}`
const newSealingKey = (): string =>
  `aws-kms:${kms.addKey({ spec: "SYMMETRIC_DEFAULT", usage: "ENCRYPT_DECRYPT" }).arn}`

/** What a word stands for in a command: something made before, or made for it. */
const meantBy = async (word: string, command: string | undefined): Promise<string> => {
  if (/^(?:NAME|NEXT|aws-kms:arn:aws:kms:\.\.\.)$/u.test(word))
    return command === "master-key create" ? newSealingKey() : newSigningKey()
  if (word === "t=...,v1=...")
    return webhookSignature({ secret: WEBHOOK_SECRET, timestamp: Math.floor(Date.now() / 1000), body: BODY })
  if (word !== "KID") return filled.get(word) ?? word
  const listed = JSON.parse((await run(["signing-key", "list", "--json"])).text)
  return listed.data.find(({ state }: { readonly state: string }) => state === "signing").kid
}

/** The hosts of the examples are nobody's, and their endpoint answers nothing. */
const NOT_HERE = /^(?:dns\.|tls\.|webhooks\.reach)/u

const examine = ({ code, text }: Ended): void => {
  const failed = text
    .split("\n")
    .map((line) => line.split(/\s+/u))
    .filter(([check = "", status]) => status === "failed" && !NOT_HERE.test(check))
  assert.deepStrictEqual(failed, [], text)
  assert.include([0, 1], code)
  assert.match(text, /^keys\.\S+ +ok /mu)
}

/** Stops a command that would run for ever, once it does what it is for. */
const stopOnce = async (
  { fiber, printed }: Started,
  does: () => boolean | Promise<boolean>
): Promise<void> => {
  const exit = Effect.runPromise(Fiber.await(fiber))
  try {
    await Promise.race([until(printed(), does), exit])
    assert.isTrue(await does(), printed())
  } finally {
    await Effect.runPromise(Fiber.interrupt(fiber))
  }
}

/** Commands that run until they are stopped. */
const ENDLESS: Readonly<Record<string, (words: ReadonlyArray<string>) => Promise<void>>> = {
  serve: async (words) => {
    const [port, approvalPort] = [await freePort(), await freePort()]
    const ports = { SVC_PORT: String(port), SVC_APPROVAL_PORT: String(approvalPort) }
    await stopOnce(start(words, ports), answers(`http://127.0.0.1:${port}/readyz`))
  },
  worker: async (words) => {
    const port = await freePort()
    await stopOnce(
      start(words, { SVC_METRICS_PORT: String(port) }),
      answers(`http://127.0.0.1:${port}/metrics`)
    )
  },
  listen: async (words) => {
    const listening = start(words, { SVC_BASE_URL: `http://127.0.0.1:${settings.SVC_PORT}` })
    await stopOnce(listening, () => listening.printed().includes("Forwarding events"))
  },
  "events tail": async (words) => {
    const tailing = start(words)
    await stopOnce(tailing, async () => {
      await makeEvidence(words[words.indexOf("--organization") + 1] ?? "")
      return tailing.printed().includes("mandate.revoked")
    })
  }
}

const splitAt = <A>(all: ReadonlyArray<A>, place: number) => [all.slice(0, place), all.slice(place)] as const

const runSvc = async (text: string): Promise<void> => {
  const command = nameOf(text.replace(/^svc /u, ""))
  const [name, given] = splitAt(wordsOf(text).slice(1), command?.split(" ").length ?? 0)
  const words = [...name, ...(await Promise.all(given.map((word) => meantBy(word, command))))]
  const endless = ENDLESS[command ?? ""]
  if (endless !== undefined) return endless(words)
  const ended = await run(words)
  if (command === "doctor") return examine(ended)
  // The key of this deployment is here. What becomes of one that is gone is tested beside the command.
  if (words.includes("--master-key-lost")) {
    assert.strictEqual(ended.code, 64, text)
    return assert.match(ended.text, /opens the signing key, so it is not lost/u)
  }
  assert.strictEqual(ended.code, 0, `${text}: ${ended.text}`)
  assert.notStrictEqual(ended.text, "", text)
  if (command === "migrate") await serve()
  if (command === "organization create") await fillFrom(JSON.parse(ended.text).organization_id)
  if (command === "api-key create" || command === "api-key rotate")
    filled.set("key_...", JSON.parse(ended.text).api_key_id)
  // Another, which the next page may rotate.
  if (command === "api-key revoke") await runSvc("svc api-key create --organization org_...")
  if (command === "api-key create") settings = { ...settings, SVC_API_KEY: JSON.parse(ended.text).api_key }
}

let isServed = false

/** Starts the server of the deployment, which makes the signing key, once there is a schema. */
const serve = async (): Promise<void> => {
  if (isServed) return
  isServed = true
  const { fiber, printed } = start(["serve"])
  await Effect.runPromise(Scope.addFinalizer(scope, Fiber.interrupt(fiber)))
  await until(printed(), answers(`http://127.0.0.1:${settings.SVC_PORT}/readyz`))
}

const runInShell = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    execFile("/bin/sh", ["-ec", text], { cwd: place, env: leastEnvironment() }, (error, stdout, stderr) =>
      error === null ? resolve() : reject(new Error(`${text}: ${stdout}${stderr}`))
    )
  })

const isElsewhere = ({ page, stands, text }: DocumentedCommand): boolean =>
  stands === "in_block" && RUN_ELSEWHERE.some((one) => one.page === page && one.begins.test(text))

const isNowhere = ({ text }: DocumentedCommand): boolean =>
  RUN_NOWHERE.some(({ begins }) => begins.test(text))

/** Those of a page that are run here. Of docs/configuration.md these are the forms of `svc`. */
const runHere = (page: string): ReadonlyArray<string> =>
  commandsOf(page)
    .filter((command) => !isElsewhere(command) && !isNowhere(command))
    .map(({ text }) => text)
    .filter((text) => page !== CONFIGURATION || text.startsWith("svc "))

describe("the commands of docs/operate that are not run here", () => {
  const commands = operatingPages().flatMap(commandsOf)

  it("are read from their page by the tests that run them", () => {
    for (const { page, test } of RUN_ELSEWHERE)
      assert.include(readFileSync(join(ROOT, test), "utf8"), page.slice(page.lastIndexOf("/") + 1), test)
  })

  it("are there: no list names what no page gives", () => {
    for (const { begins, page } of RUN_ELSEWHERE)
      assert.isTrue(
        commands.some((one) => one.page === page && begins.test(one.text)),
        `${page}: ${begins}`
      )
    for (const { begins } of RUN_NOWHERE)
      assert.isTrue(
        commands.some(({ text }) => begins.test(text)),
        String(begins)
      )
  })
})

describe.skipIf(database === undefined || other === undefined)(
  "the commands of docs/operate and docs/configuration.md",
  () => {
    beforeAll(async () => {
      kms = await Effect.runPromise(Scope.provide(fakeAwsKms, scope))
      const bucket = await startFakeBucket()
      await Effect.runPromise(Scope.addFinalizer(scope, Effect.promise(bucket.close)))
      const credentials = {
        AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
        AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey
      }
      // The client of the KMS reads the environment of the process.
      for (const [name, value] of Object.entries({ ...credentials, AWS_ENDPOINT_URL_KMS: kms.endpoint }))
        vi.stubEnv(name, value)
      settings = {
        SVC_ENVIRONMENT: "live",
        SVC_STORE: database!.url,
        SVC_OTHER_STORE: other!.url,
        SVC_BASE_URL: "https://api.example.com",
        SVC_APPROVAL_BASE_URL: "https://approve.example.com",
        SVC_HOST: "127.0.0.1",
        SVC_PORT: String(await freePort()),
        SVC_APPROVAL_PORT: String(await freePort()),
        SVC_MASTER_KEY: MASTER_KEY,
        SVC_MASTER_KEY_PREVIOUS: `B${"A".repeat(42)}`,
        SVC_WEBHOOK_SECRET: WEBHOOK_SECRET,
        SVC_LOG_LEVEL: "none",
        SVC_DATA_DIR: place,
        ...credentials,
        AWS_REGION: REGION,
        AWS_ENDPOINT_URL_S3: bucket.endpoint
      }
      const { code, text } = await run(["migrate"], { SVC_STORE: other!.url })
      assert.strictEqual(code, 0, text)
      cpSync(join(ROOT, "deploy"), join(place, "deploy"), { recursive: true })
      const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
      const published = JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] })
      for (const folder of ["archive", "erasure"]) filled.set(folder, join(place, folder))
      filled.set("secret", file("secret", WEBHOOK_SECRET))
      filled.set("public-keys.json", file("public-keys.json", published))
    })
    afterAll(async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      vi.unstubAllEnvs()
      await database?.stop()
      await other?.stop()
      rmSync(place, { recursive: true, force: true })
    })

    for (const page of PAGES) {
      it(`run as ${page} gives them`, { timeout: PAGE_MILLISECONDS }, async () => {
        for (const text of runHere(page)) await (text.startsWith("svc ") ? runSvc(text) : runInShell(text))
      })
    }

    it("leave the secrets of deploy/compose.yaml, as the service takes them and for containers to read", () => {
      const read = (name: string) => readFileSync(join(place, name), "utf8")
      for (const name of ["master_key", "secrets/master_key"])
        assert.match(read(name), /^[A-Za-z0-9_-]{43}\n?$/u)
      assert.strictEqual(statSync(join(place, "secrets")).mode & 0o777, 0o700)
      const made = readdirSync(join(place, "secrets"))
      for (const name of made)
        assert.strictEqual(statSync(join(place, "secrets", name)).mode & 0o777, 0o444, name)
      const asked = [...read("deploy/compose.yaml").matchAll(/\$\{SECRETS\b[^}]*\}\/(\w+)/gu)].map(
        ([, name]) => name
      )
      assert.deepStrictEqual(made.toSorted(), asked.toSorted())
      for (const role of ["svc_owner", "svc"]) {
        const { password, username } = new URL(read(`secrets/${role}_store`).trim())
        assert.deepStrictEqual([username, password], [role, read(`secrets/${role}_password`).trim()])
      }
    })
  }
)
