import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
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

/** What a lock of this process says. */
const ownLock = Effect.scoped(
  Effect.gen(function* () {
    const folder = join(yield* newFolder, "data")
    yield* holdFolder(folder)
    return JSON.parse(readFileSync(`${folder}.lock`, "utf8")) as { readonly space: string }
  })
)

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
      const { space } = yield* ownLock
      for (const holder of [
        { pid: gone, host, began: "", space },
        { pid: gone, host, began: "7", space },
        { pid: process.pid, host, began: "1", space },
        { pid: process.ppid, host, began: "another time", space },
        {}
      ]) {
        lockWith(folder, holder)
        yield* Effect.scoped(holdFolder(join(folder, "data")))
      }
    })
  )

  // On another machine, in another container of this one, or before this run of it: an older lock says nothing of it.
  const unseen = [
    { pid: 1, host: "elsewhere", began: "" },
    { pid: process.pid, host: hostname(), began: "1", space: "another boot pid:[1]" },
    { pid: 1, host: hostname(), began: "1" }
  ]

  it.live("leaves a holder that it cannot see alone while that one touches its lock", () =>
    Effect.gen(function* () {
      const folder = yield* newFolder
      for (const holder of unseen) {
        const path = lockWith(folder, holder)
        let beats = 0
        const touching = setInterval(() => utimesSync(path, new Date(), new Date(1_000_000 * ++beats)), 20)
        const refusal = yield* Effect.flip(holdFolder(join(folder, "data"), "500 millis"))
        clearInterval(touching)
        assert.deepStrictEqual(
          [refusal.holder, refusal.lock],
          [`process ${holder.pid} on ${holder.host}`, path]
        )
      }
    })
  )

  it.live("takes over from one that it cannot see once that is silent", () =>
    Effect.gen(function* () {
      const folder = yield* newFolder
      for (const holder of unseen) {
        lockWith(folder, holder)
        yield* Effect.scoped(holdFolder(join(folder, "data"), "50 millis"))
      }
    })
  )

  it.live("touches the lock while it holds", () =>
    Effect.gen(function* () {
      const folder = join(yield* newFolder, "data")
      yield* holdFolder(folder)
      const path = `${folder}.lock`
      utimesSync(path, new Date(0), new Date(0))
      yield* Effect.repeat(Effect.sleep("50 millis"), { until: () => statSync(path).mtimeMs > 0 })
    })
  )
})
