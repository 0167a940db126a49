import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as PgliteStore from "@svc/store-postgres/PgliteStore"
import { preparedPglite } from "@svc/store-postgres/test/PreparedPglite"
import { ConfigProvider, Console, Effect, Layer, Result } from "effect"
import { CheckFailed } from "../start/RunCommand.ts"
import { svc } from "./SvcCommand.ts"

const SETTINGS = {
  SVC_ENVIRONMENT: "test",
  SVC_BASE_URL: "http://localhost:8080",
  SVC_APPROVAL_BASE_URL: "http://localhost:8081",
  SVC_MASTER_KEY: "A".repeat(43)
}

/** What the command prints, and whether it exits 1. */
const doctor = (folder: string, ...words: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const ended = yield* Effect.result(svc(["doctor", ...words]).run).pipe(
      Effect.provideService(Console.Console, { ...console, log: (line: string) => void lines.push(line) }),
      Effect.provideService(
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromEnv({ env: { ...SETTINGS, SVC_STORE: `pglite:${folder}` } })
      )
    )
    if (Result.isFailure(ended)) assert.instanceOf(ended.failure, CheckFailed)
    return { text: lines.join("\n"), exitsOne: Result.isFailure(ended) }
  })

interface Report {
  readonly status: string
  readonly checks: ReadonlyArray<{ readonly check: string; readonly status: string }>
}

describe("svc doctor", () => {
  it.live("exits 0 for warnings, and 1 for them with --strict", () =>
    Effect.gen(function* () {
      const folder = yield* preparedPglite
      const lenient = yield* doctor(folder)
      assert.isFalse(lenient.exitsOne, lenient.text)
      assert.match(lenient.text, /\ndatabase\.fsync +warning +embedded databases run without it/u)
      assert.match(lenient.text, /\nWhat to do:\n {2}database\.fsync: use a Postgres server/u)
      assert.match(lenient.text, /\n0 failed, 1 warning, \d+ skipped, \d+ ok$/u)
      const strict = yield* doctor(folder, "--strict", "--json")
      assert.isTrue(strict.exitsOne)
      const report: Report = JSON.parse(strict.text)
      assert.strictEqual(report.status, "warning")
      assert.deepStrictEqual(
        report.checks.filter(({ status }) => status === "warning").map(({ check }) => check),
        ["database.fsync"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("skips a folder that another has open, and makes none", () =>
    Effect.gen(function* () {
      const folder = yield* preparedPglite
      yield* Layer.build(PgliteStore.layer({ folder }))
      const held = yield* doctor(folder)
      assert.isFalse(held.exitsOne, held.text)
      assert.match(held.text, /\ndatabase\.connection +skipped +\S+ is in use by/u)
      assert.match(held.text, /\n\d+ checks were skipped: the database is not open/u)
      const none = join(folder, "none")
      const absent = yield* doctor(none)
      assert.isTrue(absent.exitsOne)
      assert.match(absent.text, /\ndatabase\.connection +failed +there is no database in/u)
      assert.isFalse(existsSync(none))
    }).pipe(Effect.scoped)
  )
})
