import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { holdFolder } from "@svc/store-postgres/pglite/FolderLock"
import { preparedPglite } from "@svc/store-postgres/test/PreparedPglite"
import { ConfigProvider, Console, Effect, Result } from "effect"
import type { CheckStatus, Finding } from "../doctor/Check.ts"
import { isUnsound } from "../doctor/DoctorReport.ts"
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
  it.live("examines an embedded database, whose warnings are failures with --strict", () =>
    Effect.gen(function* () {
      const { exitsOne, text } = yield* doctor(yield* preparedPglite, "--strict", "--json")
      assert.isTrue(exitsOne)
      const report: Report = JSON.parse(text)
      assert.strictEqual(report.status, "warning")
      assert.deepStrictEqual(
        report.checks.filter(({ status }) => status === "warning").map(({ check }) => check),
        ["database.fsync"]
      )
      assert.isAbove(report.checks.filter(({ status }) => status === "ok").length, 25)
    }).pipe(Effect.scoped)
  )

  it.live("skips a folder that another has open, and makes none", () =>
    Effect.gen(function* () {
      const folder = yield* preparedPglite
      yield* holdFolder(folder)
      const held = yield* doctor(folder)
      assert.isFalse(held.exitsOne, held.text)
      assert.match(held.text, /\ndatabase\.connection +skipped +\S+ is in use by/u)
      assert.match(held.text, /\n\d+ checks were skipped: the database is not open/u)
      assert.match(held.text, /\nWhat to do:\n {2}database\.connection: stop that process/u)
      assert.match(held.text, /\n0 failed, 0 warning, \d+ skipped, \d+ ok$/u)
      const none = join(folder, "none")
      const absent = yield* doctor(none)
      assert.isTrue(absent.exitsOne)
      assert.match(absent.text, /\ndatabase\.connection +failed +there is no database in/u)
      assert.isFalse(existsSync(none))
    }).pipe(Effect.scoped)
  )

  it("exits 0 for warnings unless it is strict, and for what was skipped", () => {
    const found = (status: CheckStatus): Finding => ({ check: "a.check", status, found: "" })
    for (const [statuses, lenient, strict] of [
      [["ok", "skipped"], false, false],
      [["ok", "warning"], false, true],
      [["warning", "failed"], true, true]
    ] as const) {
      const findings = statuses.map(found)
      assert.deepStrictEqual([isUnsound(findings, false), isUnsound(findings, true)], [lenient, strict])
    }
  })
})
