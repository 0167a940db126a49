import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { webhookSignature } from "@svc/protocol/webhook/WebhookSignature"
import { ConfigProvider, Console, Effect, Result } from "effect"
import { CheckFailed } from "../start/RunCommand.ts"
import type { StartFault } from "../start/StartFault.ts"
import { svc } from "./SvcCommand.ts"
import { StandardInput } from "./WebhookCommands.ts"

const SVC = fileURLToPath(new URL("../bin/svc.ts", import.meta.url))

const newSecret = () => `svc_wh_${randomBytes(32).toString("base64url")}`
const SECRET = newSecret()
const BODY = '{"data":{"mandate_id":"mnd_1","version":1},"id":"evt_1"}'

const folder = mkdtempSync(join(tmpdir(), "svc-webhook-"))
const file = join(folder, "secret")
writeFileSync(file, `${SECRET}\n`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const now = () => Math.floor(Date.now() / 1000)

const signed = (timestamp = now(), secret = SECRET) =>
  webhookSignature({ secret, timestamp, body: new TextEncoder().encode(BODY) })

interface Run {
  readonly env?: Readonly<Record<string, string>>
  readonly body?: string
}

async function* inTwo(text: string): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  yield bytes.subarray(0, 9)
  yield bytes.subarray(9)
}

/** What the command prints, and how it ends. */
const verify = (words: ReadonlyArray<string>, { body = BODY, env = {} }: Run = {}) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const ended = yield* Effect.result(
      svc(["webhook", "verify", ...words]).run as Effect.Effect<void, StartFault | CheckFailed>
    ).pipe(
      Effect.provideService(Console.Console, { ...console, log: (line: string) => void lines.push(line) }),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
      Effect.provideService(StandardInput, inTwo(body))
    )
    return { lines, fault: Result.isFailure(ended) ? ended.failure : undefined }
  })

describe("svc webhook verify", () => {
  it.live("accepts a valid signature with the secret from any source", () =>
    Effect.gen(function* () {
      for (const [words, env] of [
        [["--secret-file", file], {}],
        [["--secret-env", "MINE"], { MINE: SECRET }],
        [[], { SVC_WEBHOOK_SECRET: SECRET }]
      ] as const) {
        const { fault, lines } = yield* verify(["--signature", signed(), ...words], { env })
        assert.isUndefined(fault)
        assert.lengthOf(lines, 1)
        assert.match(lines[0]!, /^valid: signed at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/u)
      }
    })
  )

  it.live("says in one line why a signature is invalid", () =>
    Effect.gen(function* () {
      const old = signed(now() - 1000)
      for (const [signature, more, body, line] of [
        [signed(), [], `${BODY} `, /^invalid: another secret, or the body is not the bytes that were sent/u],
        [signed(now(), newSecret()), ["--json"], BODY, /"reason":"signature_mismatch"/u],
        [
          old,
          [],
          BODY,
          /^invalid: t is too far from this machine's clock: \d+ s behind it, where 300 s are let pass; --tolerance \d+ checks/u
        ],
        [
          signed(now() + 900),
          ["--tolerance", "10"],
          BODY,
          /: (?:899|900) s ahead of it, where 10 s are let pass; --tolerance (?:1199|1200) checks/u
        ],
        ["v1=00", [], BODY, /^invalid: the signature is not t=<unix seconds>/u]
      ] as const) {
        const { fault, lines } = yield* verify(["--signature", signature, "--secret-file", file, ...more], {
          body
        })
        assert.instanceOf(fault, CheckFailed)
        assert.lengthOf(lines, 1)
        assert.match(lines[0]!, line)
      }
      const lenient = ["--signature", old, "--secret-file", file, "--tolerance", "2000", "--json"]
      assert.isTrue(JSON.parse((yield* verify(lenient)).lines[0]!).valid)
    })
  )

  it.live("exits 64 or 78 if it cannot check", () =>
    Effect.gen(function* () {
      for (const [words, code, line] of [
        [[], 64, "--signature is missing"],
        [["--signature", "x", "--tolerance", "-1"], 64, "an option is not known or has no value"],
        [["--signature", "x", "--tolerance", "1.5"], 64, "--tolerance must be"],
        [["--signature", "x", "--secret-file", file, "--secret-env", "X"], 64, "exclude each other"],
        [["--signature", "x"], 78, "SVC_WEBHOOK_SECRET is missing"],
        [["--signature", "x", "--secret-env", "MINE"], 78, "MINE must be svc_wh_"],
        [["--signature", "x", "--secret-file", join(folder, "none")], 78, "cannot be read"]
      ] as const) {
        const { fault, lines } = yield* verify(words, { env: { MINE: "svc_wh_x" } })
        assert.deepStrictEqual(lines, [])
        assert.deepInclude(fault, { _tag: "StartFault", exitCode: code })
        assert.include((fault as StartFault).line, line)
      }
      const long = yield* verify(["--signature", "x", "--secret-file", file], {
        body: "x".repeat(2 ** 20 + 1)
      })
      assert.deepInclude(long.fault, { exitCode: 64 })
    })
  )

  it.skipIf(Number(process.versions.node.split(".")[0]) < 24)(
    "reads the body from standard input and exits 1 for an invalid signature",
    () => {
      const words = ["webhook", "verify", "--signature", signed(), "--secret-file", file]
      const run = spawnSync(process.execPath, [SVC, ...words], { input: `${BODY}\n`, encoding: "utf8" })
      assert.strictEqual(run.status, 1, run.stderr)
      assert.match(run.stdout, /^invalid: /u)
      assert.strictEqual(run.stderr, "")
    }
  )
})
