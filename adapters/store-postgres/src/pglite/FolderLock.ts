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

/** The folder cannot be made or locked. */
export class FolderUnusable extends Data.TaggedError("FolderUnusable")<{
  readonly folder: string
  /** The error code of the system, such as `EROFS`. */
  readonly code: string
}> {}

/** This process held the folder and has lost it: the lock was taken over or removed. */
export class FolderLost extends Data.TaggedError("FolderLost")<{
  readonly folder: string
  readonly lock: string
}> {}

/** A folder that this process holds. */
export interface FolderHold {
  /** Whether it does so at this instant. Also `false` while that cannot be determined. */
  readonly isHeld: () => boolean
  /** Settles when it is lost for good. */
  readonly lost: Effect.Effect<FolderLost>
}

interface Holder {
  readonly pid: number
  readonly host: string
  /** When the process started, as the system reports it, since a later process may have the same id. Empty if unknown. */
  readonly began: string
  /** Where the process id is valid: the boot of the machine and the namespace (a container has its own). Empty if unknown. */
  readonly space: string
  /** Identifies this hold. Process ids do not, if processes of several containers share a folder. */
  readonly token: string
}

/** The lock file. It lies in the folder, so that it is the same file through every path and mount. */
const LOCK = "svc.lock"

/** How often a holder touches its lock file. */
const HEARTBEAT = "2 seconds"
/** How long the lock of a process that cannot be seen must have been untouched before it is taken over. */
const SILENCE: Duration.Input = "15 seconds"

const ATTEMPTS = 20
/** Taking over is a matter of milliseconds. One that lasts longer was interrupted. */
const TAKEOVER_MILLISECONDS = 10_000

/** Field of `/proc/{pid}/stat` with the start time of a process, counted after the name in parentheses. */
const BEGAN_FIELD = 19

/** The fields of `/proc/{pid}/stat` after the name in parentheses; empty on systems other than Linux, or if the process is gone. */
const statOf = (pid: number): ReadonlyArray<string> => {
  const text = readText(`/proc/${pid}/stat`)
  return text.slice(text.lastIndexOf(")") + 2).split(" ")
}

const beganOf = (pid: number): string => statOf(pid)[BEGAN_FIELD] ?? ""

/** Whether a process is a zombie, which has ended and holds nothing open. */
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
const ownTokens = new Set<string>()

/** Whether the holder's process id is valid in this namespace. */
const isSeenFromHere = ({ host, space }: Holder): boolean => host === hostname() && space === ownSpace()

/** A holder that cannot be seen from here counts as alive; its heartbeat shows whether it is. */
const isAlive = (holder: Holder): boolean => {
  const { began, pid, token } = holder
  if (!isSeenFromHere(holder)) return true
  // An earlier process may have had the id of this one, as with the first process of a container.
  if (pid === process.pid) return ownTokens.has(token)
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
  // Not written by a holder, or incomplete after a crash of the machine: there is nobody to wait for.
  return { began: "", host: hostname(), pid: 0, space: ownSpace(), token: "" }
}

/** Makes a folder and its parents. The runtime's recursive `mkdir` never ends where the system allows none (`/proc`). */
const makeFolder = (path: string): void => {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    mkdirSync(path, { mode: FOLDER_MODE })
  } catch (error) {
    // Another process may have made it first.
    if (codeOf(error) !== "EEXIST" || !statSync(path).isDirectory()) throw error
  }
}

/** Makes a file with its whole text in one step, unless it exists. */
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
 * Removes the lock of a dead holder: one whose process has visibly ended, or one that cannot be seen and whose last sign of
 * life was at `silentSince`. One process at a time checks and removes, so that no lock of a living holder is removed.
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

/** Runs a step on the file system and turns its errors into faults of the folder. */
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

/** Waits until a lock is free, and removes that of a dead holder. Fails if the holder is alive. */
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
  // Earlier releases had their lock beside the folder. If that cannot be read or removed, none of them can run either.
  yield* Effect.catchTag(
    outlive(folder, `${resolve(folder)}.lock`, silence),
    "FolderUnusable",
    () => Effect.void
  )
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (yield* onFiles(folder, () => create(path, JSON.stringify(own)))) {
      ownTokens.add(own.token)
      return
    }
    yield* outlive(folder, path, silence)
    if (attempt > 0) yield* Effect.sleep("50 millis")
  }
  return yield* new FolderHeld({ folder, lock: path, holder: "a process that is starting" })
})

const isOwn = (path: string, { token }: Holder): boolean => readHolder(path)?.token === token

/** Releases the lock, unless another process has it by now. */
const giveBack = (path: string, own: Holder): void => {
  ownTokens.delete(own.token)
  try {
    if (isOwn(path, own)) rmSync(path, { force: true })
  } catch {
    // The lock stays, and others will find that its process has ended or is silent.
  }
}

/** Touches the lock as a sign of life. A failure is harmless: others see a long silence only if many in a row fail. */
const touch = (path: string): void => {
  try {
    const now = new Date()
    utimesSync(path, now, now)
  } catch {
    // Ignored: `isHeld` determines whether the folder is still held.
  }
}

/** Whether this process has the lock at this instant; `unknown` if that cannot be determined. */
const ownership = (path: string, own: Holder): boolean | "unknown" => {
  try {
    return isOwn(path, own)
  } catch {
    return "unknown"
  }
}

/**
 * Holds a folder for this process and its user until the scope closes, by a lock file in it. The lock of a dead holder is
 * taken over: at once if its process can be seen from here; otherwise (on another machine, in another container, or before
 * a reboot) once the lock was not touched for `silence`. A holder that was paused for that long loses its folder, so it
 * must check `isHeld` before every access.
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
    // Once lost it stays lost, since another process may have written in the meantime.
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
