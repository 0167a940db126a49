import { randomUUID } from "node:crypto"
import {
  linkSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { hostname } from "node:os"
import { dirname, join, resolve } from "node:path"
import { Data, Deferred, type Duration, Effect, Schedule, type Scope } from "effect"
import { closeToOthers, FILE_MODE, FOLDER_MODE, FolderExposed } from "./PrivateFolder.ts"

/** The folder is open in another process. */
export class FolderHeld extends Data.TaggedError("FolderHeld")<{
  readonly folder: string
  readonly lock: string
  /** Process id of the holder, and its machine. */
  readonly holder: string
}> {}

/** The folder cannot be made, or takes no lock. */
export class FolderUnusable extends Data.TaggedError("FolderUnusable")<{
  readonly folder: string
  /** What the system calls the reason, such as `EROFS`. */
  readonly code: string
}> {}

/** The folder was this process's, and is not any more: its lock was taken over or removed. */
export class FolderLost extends Data.TaggedError("FolderLost")<{
  readonly folder: string
  readonly lock: string
}> {}

/** A folder that this process holds. */
export interface FolderHold {
  /** Whether it does so at this instant. `false` too while that cannot be found out. */
  readonly isHeld: () => boolean
  /** Settles when it is lost for good. */
  readonly lost: Effect.Effect<FolderLost>
}

interface Holder {
  readonly pid: number
  readonly host: string
  /** When the process began, as the system tells it: a later process may have the same id. Empty where unknown. */
  readonly began: string
  /** Where process ids mean the same: the machine's run, and the namespace (a container has its own). Empty where unknown. */
  readonly space: string
  /** Names this one hold, as nothing else does where processes of several containers share a folder. */
  readonly token: string
}

/** The lock, within the folder: whatever path leads there, and through whatever mount, everybody sees the same file. */
const LOCK = "svc.lock"

/** How often a holder touches its lock. */
const HEARTBEAT = "2 seconds"
/** How long a lock must have been left alone by a holder that cannot be seen. */
const SILENCE: Duration.Input = "15 seconds"

const ATTEMPTS = 20
/** Taking over is a matter of milliseconds; one that lasts longer was itself cut off. */
const TAKEOVER_MILLISECONDS = 10_000

/** Field of `/proc/{pid}/stat` that says when a process began, counted after the name in parentheses. */
const BEGAN_FIELD = 19

/** What `/proc/{pid}/stat` says after the name in parentheses; nothing where it is not Linux, or the process is gone. */
const statOf = (pid: number): ReadonlyArray<string> => {
  const text = readText(`/proc/${pid}/stat`)
  return text.slice(text.lastIndexOf(")") + 2).split(" ")
}

const beganOf = (pid: number): string => statOf(pid)[BEGAN_FIELD] ?? ""

/** Whether a process has ended and only waits for its parent to ask how: it holds nothing open any more. */
const isZombie = (pid: number): boolean => statOf(pid)[0] === "Z"

const readLink = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    return ""
  }
}

const readText = (path: string): string => {
  try {
    return readFileSync(path, "utf8").trim()
  } catch {
    return ""
  }
}

const ownSpace = (): string =>
  `${readText("/proc/sys/kernel/random/boot_id")} ${readLink("/proc/self/ns/pid")}`

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

const exists = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === "EPERM"
  }
}

/** Tokens of the locks that this process holds now. */
const held = new Set<string>()

/** Whether the holder's process id means something here. */
const isSeenFromHere = ({ host, space }: Holder): boolean => host === hostname() && space === ownSpace()

/** A holder that cannot be seen from here counts as alive; whether it is, its heartbeat tells. */
const isAlive = (holder: Holder): boolean => {
  const { began, pid, token } = holder
  if (!isSeenFromHere(holder)) return true
  // An earlier process may have had our own id, as the first one of a container has.
  if (pid === process.pid) return held.has(token)
  return pid > 0 && exists(pid) && !isZombie(pid) && beganOf(pid) === began
}

const readHolder = (path: string): Holder | undefined => {
  try {
    const { began, host, pid, space, token } = JSON.parse(readFileSync(path, "utf8"))
    if (typeof began === "string" && typeof host === "string" && Number.isInteger(pid)) {
      return {
        began,
        host,
        pid,
        space: typeof space === "string" ? space : "",
        token: typeof token === "string" ? token : ""
      }
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined
    if (!(error instanceof SyntaxError)) throw error
  }
  // Written by no holder of ours, or cut off with its machine: nobody to wait for.
  return { began: "", host: hostname(), pid: 0, space: ownSpace(), token: "" }
}

/** Makes a folder and those that it lies in. The runtime's own way to do so never ends where the system makes none (`/proc`). */
const makeFolder = (path: string): void => {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    mkdirSync(path, { mode: FOLDER_MODE })
  } catch (error) {
    // Another process may have been faster.
    if (codeOf(error) !== "EEXIST" || !statSync(path).isDirectory()) throw error
  }
}

/** Makes a file with its whole text in one step, unless it is there. */
const create = (path: string, text: string): boolean => {
  const draft = `${path}.${randomUUID()}`
  writeFileSync(draft, text, { mode: FILE_MODE })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

const beatOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs

/**
 * Removes the lock of a dead holder: one that can be seen to be, or one that cannot be seen and whose last sign of life
 * was at `silentSince`. One process at a time judges and removes, so that no living one's is lost.
 */
const clearDead = (path: string, silentSince?: number): void => {
  const takeover = `${path}.takeover`
  if (!create(takeover, "")) {
    const began = statSync(takeover, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (Date.now() - began > TAKEOVER_MILLISECONDS) rmSync(takeover, { force: true })
    return
  }
  try {
    const holder = readHolder(path)
    if (holder === undefined) return
    const isDead = isSeenFromHere(holder) ? !isAlive(holder) : beatOf(path) === silentSince
    if (isDead) rmSync(path, { force: true })
  } finally {
    rmSync(takeover, { force: true })
  }
}

const newHolder = (): Holder => ({
  pid: process.pid,
  host: hostname(),
  began: beganOf(process.pid),
  space: ownSpace(),
  token: randomUUID()
})

/** A step on the file system, whose refusals lie in what the folder is. */
const onFiles = <A>(folder: string, step: () => A): Effect.Effect<A, FolderUnusable> =>
  Effect.try({
    try: step,
    catch: (cause) => new FolderUnusable({ folder, code: codeOf(cause) ?? "unknown" })
  })

const takeForOwner = (folder: string): Effect.Effect<void, FolderUnusable | FolderExposed> =>
  Effect.try({
    try: () => closeToOthers(resolve(folder)),
    catch: (cause) =>
      cause instanceof FolderExposed
        ? cause
        : new FolderUnusable({ folder, code: codeOf(cause) ?? "unknown" })
  })

const heldBy = (folder: string, lock: string, { host, pid }: Holder): FolderHeld =>
  new FolderHeld({ folder, lock, holder: `process ${pid} on ${host}` })

/** Waits until a lock is nobody's or a dead one's, which it removes; refuses when its holder lives. */
const outlive = Effect.fnUntraced(function* (folder: string, path: string, silence: Duration.Input) {
  const holder = yield* onFiles(folder, () => readHolder(path))
  if (holder === undefined) return
  if (isSeenFromHere(holder)) {
    if (isAlive(holder)) return yield* heldBy(folder, path, holder)
    return yield* onFiles(folder, () => clearDead(path))
  }
  const before = yield* onFiles(folder, () => beatOf(path))
  yield* Effect.sleep(silence)
  if (before === undefined || before !== (yield* onFiles(folder, () => beatOf(path)))) {
    return yield* heldBy(folder, path, holder)
  }
  yield* onFiles(folder, () => clearDead(path, before))
})

const take = Effect.fnUntraced(function* (
  folder: string,
  path: string,
  own: Holder,
  silence: Duration.Input
): Effect.fn.Return<void, FolderHeld | FolderUnusable | FolderExposed> {
  yield* onFiles(folder, () => makeFolder(resolve(folder)))
  yield* takeForOwner(folder)
  // Releases before this one had their lock beside the folder. Where that cannot be read or removed, none of them runs.
  yield* Effect.catchTag(
    outlive(folder, `${resolve(folder)}.lock`, silence),
    "FolderUnusable",
    () => Effect.void
  )
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (yield* onFiles(folder, () => create(path, JSON.stringify(own)))) {
      held.add(own.token)
      return
    }
    yield* outlive(folder, path, silence)
    if (attempt > 0) yield* Effect.sleep("50 millis")
  }
  return yield* new FolderHeld({ folder, lock: path, holder: "a process that is starting" })
})

const isOwn = (path: string, { token }: Holder): boolean => readHolder(path)?.token === token

/** Gives the lock back, unless it is somebody else's by now. */
const giveBack = (path: string, own: Holder): void => {
  held.delete(own.token)
  try {
    if (isOwn(path, own)) rmSync(path, { force: true })
  } catch {
    // It stays, and its process is seen to be gone, or to be silent.
  }
}

/** A sign of life. One that fails is followed by another; others see so long a silence only if all of them do. */
const touch = (path: string): void => {
  try {
    const now = new Date()
    utimesSync(path, now, now)
  } catch {
    // Whether the folder is held is for its reader to find out.
  }
}

/** Whether the lock is this process's at this instant, or that it cannot be found out. */
const ownership = (path: string, own: Holder): boolean | "unknown" => {
  try {
    return isOwn(path, own)
  } catch {
    return "unknown"
  }
}

/**
 * Holds a folder for this process until the scope closes, through a lock file in it, and for its user alone. The lock of a holder that
 * died is taken over: at once where its process can be seen, else (another machine or container, or a run of the
 * machine before) once its lock was not touched for `silence`. A holder that was paused for that long finds its folder
 * lost, and must ask `isHeld` before whatever it does there.
 */
export const holdFolder = (
  folder: string,
  silence: Duration.Input = SILENCE
): Effect.Effect<FolderHold, FolderHeld | FolderUnusable | FolderExposed, Scope.Scope> =>
  Effect.gen(function* () {
    const path = join(resolve(folder), LOCK)
    const own = newHolder()
    yield* Effect.acquireRelease(take(folder, path, own, silence), () =>
      Effect.sync(() => giveBack(path, own))
    )
    const lost = yield* Deferred.make<FolderLost>()
    // Once lost it stays so: somebody else may have written and gone.
    let isLost = false
    const isHeld = (): boolean => {
      if (isLost) return false
      const found = ownership(path, own)
      isLost = found === false
      return found === true
    }
    yield* Effect.sync(() => isHeld() && touch(path)).pipe(
      Effect.repeat({ schedule: Schedule.spaced(HEARTBEAT), until: () => isLost }),
      Effect.andThen(Deferred.succeed(lost, new FolderLost({ folder, lock: path }))),
      Effect.forkScoped
    )
    return { isHeld, lost: Deferred.await(lost) }
  })
