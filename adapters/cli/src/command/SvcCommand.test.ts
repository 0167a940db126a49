import { spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Console, Effect } from "effect"
import { MASTER_KEY_FORM } from "../config/MasterKeySetting.ts"
import type { StartFault } from "../start/StartFault.ts"
import { apiKeyCommands } from "./ApiKeyCommands.ts"
import { COMMANDS } from "./CommandList.ts"
import { organizationCommands } from "./OrganizationCommands.ts"
import { signingKeyCommands } from "./SigningKeyCommands.ts"
import { svc } from "./SvcCommand.ts"
import { webhookCommands } from "./WebhookCommands.ts"

type Variables = Readonly<Record<string, string>>

/** Runs a command and gives what it prints. */
const print = (env: Variables, ...words: ReadonlyArray<string>): Effect.Effect<string, StartFault> => {
  const lines: Array<string> = []
  return svc(words).run.pipe(
    Effect.provideService(Console.Console, { ...console, log: (line: string) => void lines.push(line) }),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
    Effect.map(() => lines.join("\n"))
  ) as Effect.Effect<string, StartFault>
}

const faultOf = (env: Variables, ...words: ReadonlyArray<string>) =>
  Effect.map(Effect.flip(print(env, ...words)), ({ exitCode, line }) => [exitCode, line] as const)

const SVC = fileURLToPath(new URL("../bin/svc.ts", import.meta.url))

/** Tells on the standard error which files are loaded. */
const LISTING = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module"
  registerHooks({ load: (url, context, next) => (process.stderr.write(url + "\\n"), next(url, context)) })
`)}`

const RUNS_TYPESCRIPT = Number(process.versions.node.split(".")[0]) >= 24

describe.skipIf(!RUNS_TYPESCRIPT)("svc", () => {
  for (const [words, told] of [
    [["--version"], /^\d+\.\d+\.\d+\n$/u],
    [["--help"], /\n {2}svc organization update {3,}changes settings/u],
    [["api-key", "--help"], /\n {2}svc api-key revoke /u],
    [["organization", "list", "--help"], /\n {2}SVC_STORE\n/u],
    [["serve", "-h"], /^svc serve: /u]
  ] as const) {
    it(`loads neither a command nor Effect for ${words.join(" ")}`, () => {
      const { status, stderr, stdout } = spawnSync(process.execPath, ["--import", LISTING, SVC, ...words], {
        encoding: "utf8"
      })
      assert.match(stdout, told)
      assert.strictEqual(status, 0)
      const files = stderr.split("\n").filter((url) => url.startsWith("file:"))
      assert.deepStrictEqual(
        files.map((url) => url.slice(url.lastIndexOf("/src/") + 1)),
        [
          "src/bin/svc.ts",
          "src/command/CommandList.ts",
          "src/start/Version.ts",
          "src/command/CommandHelp.ts",
          "src/start/ClosedOutput.ts"
        ]
      )
    })
  }

  it("--version prints the version of its package", () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    const { stdout } = spawnSync(process.execPath, [SVC, "--version"], { encoding: "utf8" })
    assert.strictEqual(stdout, `${version}\n`)
  })

  it("--help lists every command", async () => {
    const loaded = await Promise.all(COMMANDS.map(({ load }) => load()))
    assert.deepStrictEqual(
      loaded.map(({ name }) => name),
      COMMANDS.map(({ name }) => name)
    )
    const there = [...organizationCommands, ...apiKeyCommands, ...signingKeyCommands, ...webhookCommands]
    const names = COMMANDS.map(({ name }) => name)
    for (const { name } of there) assert.include(names, name)
  })
})

describe("svc", () => {
  it.effect("with an unknown command exits 64 with a line that quotes no secret", () =>
    Effect.gen(function* () {
      for (const [words, line] of [
        [[], "a command is missing; see svc --help"],
        [["sreve"], 'unknown command "sreve" (was svc serve meant?); see svc --help'],
        [["approve", "all"], 'unknown command "approve all"; see svc --help'],
        [["webhook"], "a subcommand is missing: there is svc webhook verify; see svc webhook --help"],
        [
          ["signing-key", "remove"],
          'unknown command "signing-key remove": there is svc signing-key rotate, svc signing-key withdraw, svc signing-key list; see svc signing-key --help'
        ],
        [
          ["webhook", "svc_wh_AAAA"],
          'unknown command "webhook": there is svc webhook verify; see svc webhook --help'
        ],
        [["svc_live_AAAA", "--help"], "unknown command; see svc --help"],
        [["--store"], "unknown command; see svc --help"]
      ] as const) {
        assert.deepStrictEqual(yield* faultOf({}, ...words), [64, line])
      }
    })
  )

  it.effect("with --help prints the options of a command whatever the settings", () =>
    Effect.gen(function* () {
      const help = yield* print({}, "--help")
      for (const { name } of COMMANDS) {
        assert.include(help, `svc ${name} `)
        const own = yield* print({}, ...name.split(" "), "--help")
        assert.isTrue(own.startsWith(`svc ${name}`), name)
        assert.include(own, "Exit codes: 0")
      }
      const ofKeys = yield* print({}, "signing-key", "--help")
      assert.include(ofKeys, "svc signing-key rotate ")
      assert.notInclude(ofKeys, "svc organization")
    })
  )

  it.effect("with an unknown option exits 64", () =>
    Effect.gen(function* () {
      const unnamed = "an option is not known or has no value; see --help"
      for (const [words, line] of [
        [["serve", "--worker"], "unknown option --worker; see --help"],
        [["listen", "--frm-start"], "unknown option --frm-start (was --from-start meant?); see --help"],
        [
          ["listen", "--api-kye=svc_live_AAAA", "--jsn", "--elsewhere"],
          "unknown option --api-kye (was --api-key meant?); see --help\nunknown option --jsn (was --json meant?); see --help\nunknown option --elsewhere; see --help"
        ],
        [["listen", "--after", "1", "--after", "2"], "--after is given twice"],
        [["listen", "--after"], "--after has no value; see --help"],
        [["listen", "--after", "--json"], unnamed],
        [["listen", "--json=x"], unnamed],
        [["listen", "--svc_live_AAAA"], unnamed],
        [["worker", "now"], "a word is given that belongs to no option; see --help"]
      ] as const) {
        assert.deepStrictEqual(yield* faultOf({}, ...words), [64, line])
      }
    })
  )

  it.effect("with a missing or invalid setting exits 78", () =>
    Effect.gen(function* () {
      const form = "it must be a postgres:// URL"
      const key = { SVC_MASTER_KEY: "A".repeat(43) }
      assert.deepStrictEqual(yield* faultOf({}, "worker"), [
        78,
        `SVC_STORE is missing; ${form}\nSVC_MASTER_KEY is missing; it must be ${MASTER_KEY_FORM}`
      ])
      const server =
        "SVC_STORE must be a postgres:// URL: a folder or memory is opened by one process alone, which brings its schema up to date and works on it by itself"
      assert.deepStrictEqual(yield* faultOf({ ...key, SVC_STORE: "memory" }, "worker"), [78, server])
      assert.deepStrictEqual(yield* faultOf({ SVC_STORE: "pglite:x" }, "migrate"), [78, server])
      const [code, line] = yield* faultOf({ SVC_STORE: "memory" }, "signing-key", "list")
      assert.strictEqual(code, 78)
      assert.match(
        line,
        /^SVC_STORE must be pglite:<folder> or a postgres:\/\/ URL: memory ends with the command$/u
      )
    })
  )

  it.effect("on a folder without a database exits 78 and makes none, unless it begins a deployment", () =>
    Effect.gen(function* () {
      const folder = join(tmpdir(), `svc-none-${randomUUID()}`)
      const settings = {
        SVC_STORE: `pglite:${folder}`,
        SVC_ENVIRONMENT: "test",
        SVC_MASTER_KEY: "A".repeat(43)
      }
      const of = ["--organization", `org_${"0".repeat(26)}`]
      for (const words of [
        ["organization", "list"],
        ["organization", "update", ...of, "--name", "Shop"],
        ["api-key", "list", ...of],
        ["signing-key", "list"],
        ["signing-key", "rotate"],
        // An operator whose key leaked must not be told that another one signs, in a database that nobody else uses.
        ["signing-key", "rotate", "--now"],
        ["signing-key", "rotate", "--now", "--kms", "aws-kms:next"],
        ["signing-key", "rotate", "--now", "--master-key-lost", "--stored"],
        ["signing-key", "withdraw", "A".repeat(43), "--reason", "leaked"],
        ["master-key", "rewrap"],
        ["operator-log"],
        ["event", "list", ...of],
        ["events", "tail", ...of],
        ["store", "acknowledge-history"]
      ]) {
        const [code, line] = yield* faultOf(
          { ...settings, SVC_MASTER_KEY_PREVIOUS: `${"B".repeat(42)}A` },
          ...words
        )
        assert.strictEqual(code, 78)
        assert.match(line, /^there is no database in \/\S+: see that SVC_STORE names the right folder/u)
      }
      assert.isFalse(existsSync(folder))
      const beginning = (...words: ReadonlyArray<string>) =>
        [...organizationCommands, ...apiKeyCommands, ...signingKeyCommands]
          .filter(({ makesFolder }) => makesFolder?.(words) === true)
          .map(({ name }) => name)
      assert.deepStrictEqual(beginning(), ["organization create"])
      for (const words of [["--kms", "aws-kms:first"], ["--kms=aws-kms:first"]])
        assert.deepStrictEqual(beginning(...words), ["organization create", "signing-key rotate"])
    })
  )

  it.effect("reports invalid options together with invalid settings", () =>
    Effect.gen(function* () {
      const [code, line] = yield* faultOf({}, "api-key", "create", "--scope", "all")
      assert.strictEqual(code, 64)
      assert.deepStrictEqual(
        line.split("\n").map((told) => told.split(" ")[0]),
        ["--scope", "--organization", "SVC_ENVIRONMENT", "SVC_STORE"]
      )
    })
  )

  it.effect("migrate --print-sql needs no settings", () =>
    Effect.gen(function* () {
      assert.match(yield* print({}, "migrate", "--print-sql"), /create table "svc"\.lease/u)
    })
  )
})
