import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { type FolderHeld, holdFolder } from "./FolderLock.ts"

const newFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-lock-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

const lockOf = (folder: string): string => join(folder, "svc.lock")

const lockWith = (folder: string, holder: object): string => {
  mkdirSync(join(folder, "data"), { recursive: true })
  const path = lockOf(join(folder, "data"))
  writeFileSync(path, JSON.stringify(holder))
  return path
}

/** When a process began, as its lock says it. */
const beganOf = (pid: number): string => {
  if (!existsSync(`/proc/${pid}/stat`)) return ""
  const text = readFileSync(`/proc/${pid}/stat`, "utf8")
  return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? ""
}

/** What a lock of this process says. */
const ownLock = Effect.scoped(
  Effect.gen(function* () {
    const folder = join(yield* newFolder, "data")
    yield* holdFolder(folder)
    return JSON.parse(readFileSync(lockOf(folder), "utf8")) as { readonly space: string }
  })
)

/** The refusal because somebody else holds the folder. */
const refusalOf = <A, E extends { readonly _tag: string }, R>(
  hold: Effect.Effect<A, E, R>
): Effect.Effect<FolderHeld, unknown, R> =>
  Effect.flatMap(Effect.flip(hold), (fault) =>
    fault._tag === "FolderHeld" ? Effect.succeed(fault as unknown as FolderHeld) : Effect.die(fault)
  )

describe("the lock of a folder", () => {
  it.live("is held until the scope closes, and names its holder to others", () =>
    Effect.gen(function* () {
      const folder = join(yield* newFolder, "new", "data")
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* holdFolder(folder)
          const refusal = yield* refusalOf(Effect.scoped(holdFolder(folder)))
          assert.strictEqual(refusal.holder, `process ${process.pid} on ${hostname()}`)
          assert.isTrue(existsSync(lockOf(folder)))
        })
      )
      assert.isFalse(existsSync(lockOf(folder)))
      yield* holdFolder(folder)
    })
  )

  it.live("is taken over from a holder that died, or whose process id another process has now", () =>
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

  it.live("is not taken over from a holder out of sight that still touches it", () =>
    Effect.gen(function* () {
      const folder = yield* newFolder
      for (const holder of unseen) {
        const path = lockWith(folder, holder)
        let beats = 0
        const touching = setInterval(() => utimesSync(path, new Date(), new Date(1_000_000 * ++beats)), 20)
        const refusal = yield* refusalOf(holdFolder(join(folder, "data"), "500 millis"))
        clearInterval(touching)
        assert.deepStrictEqual(
          [refusal.holder, refusal.lock],
          [`process ${holder.pid} on ${holder.host}`, path]
        )
      }
    })
  )

  it.live("is taken over from a holder out of sight once that is silent", () =>
    Effect.gen(function* () {
      const folder = yield* newFolder
      for (const holder of unseen) {
        lockWith(folder, holder)
        yield* Effect.scoped(holdFolder(join(folder, "data"), "50 millis"))
      }
    })
  )

  it.live("is touched while it is held", () =>
    Effect.gen(function* () {
      const folder = join(yield* newFolder, "data")
      yield* holdFolder(folder)
      const path = lockOf(folder)
      utimesSync(path, new Date(0), new Date(0))
      yield* Effect.repeat(Effect.sleep("50 millis"), { until: () => statSync(path).mtimeMs > 0 })
    })
  )

  it.live.skipIf(!existsSync("/proc/self/stat"))(
    "is not held by a process that has ended but was not waited for",
    () =>
      Effect.gen(function* () {
        const folder = yield* newFolder
        const own = yield* ownLock
        // The shell becomes a program that never asks for the end of the child that the shell began.
        const parent = spawn("sh", ["-c", "sleep 20 & echo $!; exec sleep 20"], {
          stdio: ["ignore", "pipe", "ignore"]
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => parent.kill("SIGKILL")))
        const pid = Number(yield* Effect.promise(async () => String((await once(parent.stdout, "data"))[0])))
        const statOf = (id: number) => readFileSync(`/proc/${id}/stat`, "utf8")
        const hasBecomeSleep = () => statOf(parent.pid!).includes("(sleep)")
        yield* Effect.repeat(Effect.sleep("20 millis"), { until: hasBecomeSleep })
        process.kill(pid, "SIGKILL")
        const isZombie = () => / Z /u.test(statOf(pid))
        yield* Effect.repeat(Effect.sleep("20 millis"), { until: isZombie })
        lockWith(folder, { ...own, pid, began: beganOf(pid) })
        yield* holdFolder(join(folder, "data"))
      })
  )

  it.live("is the same however the folder is reached, in this process too", () =>
    Effect.gen(function* () {
      const root = yield* newFolder
      const folder = join(root, "data")
      mkdirSync(folder)
      symlinkSync(folder, join(root, "link"))
      yield* holdFolder(folder)
      const refusal = yield* refusalOf(Effect.scoped(holdFolder(join(root, "link"))))
      assert.strictEqual(refusal.holder, `process ${process.pid} on ${hostname()}`)
    })
  )

  it.live("is refused while a process of an earlier release holds its lock beside the folder", () =>
    Effect.gen(function* () {
      const folder = join(yield* newFolder, "data")
      const { space, ...own } = yield* ownLock
      const beside = `${folder}.lock`
      writeFileSync(
        beside,
        JSON.stringify({ ...own, space, pid: process.ppid, began: beganOf(process.ppid) })
      )
      const refusal = yield* refusalOf(Effect.scoped(holdFolder(folder)))
      assert.deepStrictEqual(
        [refusal.holder, refusal.lock],
        [`process ${process.ppid} on ${hostname()}`, beside]
      )
      writeFileSync(beside, JSON.stringify({ ...own, space, pid: process.ppid, began: "earlier" }))
      yield* Effect.scoped(holdFolder(folder))
      assert.isFalse(existsSync(beside))
    })
  )

  it.live("is lost for good once another process or nobody has it", () =>
    Effect.gen(function* () {
      const folder = yield* newFolder
      for (const other of ["another", undefined]) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            const hold = yield* holdFolder(join(folder, "data"))
            assert.isTrue(hold.isHeld())
            const lock = lockOf(join(folder, "data"))
            const own = readFileSync(lock, "utf8")
            rmSync(lock)
            if (other !== undefined) lockWith(folder, { ...JSON.parse(own), token: other })
            assert.isFalse(hold.isHeld())
            const told = yield* Effect.timeoutOption(hold.lost, "60 seconds")
            assert.strictEqual(Option.getOrThrow(told).lock, lock)
            writeFileSync(lock, own)
            assert.isFalse(hold.isHeld())
            if (other !== undefined) lockWith(folder, { ...JSON.parse(own), token: other })
          })
        )
        // What is another's is not removed.
        assert.strictEqual(existsSync(lockOf(join(folder, "data"))), other !== undefined)
        rmSync(lockOf(join(folder, "data")), { force: true })
      }
    })
  )

  it.live("is in doubt, not lost, while its file cannot be read", () =>
    Effect.gen(function* () {
      const folder = join(yield* newFolder, "data")
      const { isHeld } = yield* holdFolder(folder)
      const own = readFileSync(lockOf(folder), "utf8")
      rmSync(lockOf(folder))
      mkdirSync(lockOf(folder))
      assert.isFalse(isHeld())
      rmSync(lockOf(folder), { recursive: true })
      writeFileSync(lockOf(folder), own)
      assert.isTrue(isHeld())
    })
  )

  it.live("fails with a clear error where a folder cannot be made", () =>
    Effect.gen(function* () {
      const root = yield* newFolder
      writeFileSync(join(root, "file"), "")
      mkdirSync(join(root, "closed", "data"), { recursive: true })
      chmodSync(join(root, "closed", "data"), 0o500)
      mkdirSync(lockOf(join(root, "odd")), { recursive: true })
      const unusable = [
        [join(root, "file"), "EEXIST"],
        [join(root, "file", "data"), "EEXIST"],
        [join(root, "odd"), "EISDIR"],
        ...(existsSync("/proc/self") ? [["/proc/no/folder", "ENOENT"] as const] : []),
        // Nothing forbids the superuser anything.
        ...(process.getuid?.() === 0 ? [] : [[join(root, "closed", "data"), "EACCES"] as const])
      ] as const
      for (const [folder, code] of unusable) {
        const fault = yield* Effect.flip(holdFolder(folder))
        assert.deepInclude(fault, { _tag: "FolderUnusable", folder, code })
      }
    })
  )
})
