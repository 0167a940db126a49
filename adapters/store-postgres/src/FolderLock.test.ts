import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { holdFolder } from "./FolderLock.ts"

const newFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-lock-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

const lockWith = (folder: string, holder: object): string => {
  const path = join(folder, "data.lock")
  writeFileSync(path, JSON.stringify(holder))
  return path
}

describe("holdFolder", () => {
  it.live("holds until the scope closes, and names the holder to others", () =>
    Effect.gen(function* () {
      const folder = join(yield* newFolder, "new", "data")
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* holdFolder(folder)
          const refusal = yield* Effect.flip(Effect.scoped(holdFolder(folder)))
          assert.strictEqual(refusal.holder, `process ${process.pid} on ${hostname()}`)
          assert.isTrue(existsSync(`${folder}.lock`))
        })
      )
      assert.isFalse(existsSync(`${folder}.lock`))
      yield* holdFolder(folder)
    })
  )

  it.live("takes over from a holder that died, or whose id another process has now", () =>
    Effect.gen(function* () {
      const folder = yield* newFolder
      const gone = spawnSync(process.execPath, ["-e", ""]).pid
      const host = hostname()
      for (const holder of [
        { pid: gone, host, began: "" },
        { pid: gone, host, began: "7" },
        { pid: process.pid, host, began: "1" },
        { pid: process.ppid, host, began: "another time" },
        {}
      ]) {
        lockWith(folder, holder)
        yield* Effect.scoped(holdFolder(join(folder, "data")))
      }
    })
  )

  it.live("leaves a holder on another machine alone", () =>
    Effect.gen(function* () {
      const folder = yield* newFolder
      const path = lockWith(folder, { pid: 1, host: "elsewhere", began: "" })
      const refusal = yield* Effect.flip(holdFolder(join(folder, "data")))
      assert.deepStrictEqual([refusal.holder, refusal.lock], ["process 1 on elsewhere", path])
    })
  )
})
