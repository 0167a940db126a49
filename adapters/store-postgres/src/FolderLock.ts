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
import { dirname, resolve } from "node:path"
import { Data, type Duration, Effect, Schedule, type Scope } from "effect"

/** The folder is open in another process. */
export class FolderHeld extends Data.TaggedError("FolderHeld")<{
  readonly folder: string
  readonly lock: string
  /** Process id of the holder, and its machine. */
  readonly holder: string
}> {}

interface Holder {
  readonly pid: number
  readonly host: string
  /** When the process began, as the system tells it: a later process may have the same id. Empty where unknown. */
  readonly began: string
  /** Where process ids mean the same: the machine's run, and the namespace (a container has its own). Empty where unknown. */
  readonly space: string
}

/** How often a holder touches its lock. */
const HEARTBEAT = "2 seconds"
/** How long a lock must have been left alone by a holder that cannot be seen. */
const SILENCE: Duration.Input = "15 seconds"

const FILE_MODE = 0o600
const FOLDER_MODE = 0o700
const ATTEMPTS = 20
/** Taking over is a matter of milliseconds; one that lasts longer was itself cut off. */
const TAKEOVER_MILLISECONDS = 10_000

/** Field of `/proc/{pid}/stat` that says when a process began, counted after the name in parentheses. */
const BEGAN_FIELD = 19

const beganOf = (pid: number): string => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[BEGAN_FIELD] ?? ""
  } catch {
    // Not Linux, or the process is gone.
    return ""
  }
}

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

/** Locks that this process holds now. */
const held = new Set<string>()

/** Whether the holder's process id means something here. */
const isSeenFromHere = ({ host, space }: Holder): boolean => host === hostname() && space === ownSpace()

/** A holder that cannot be seen from here counts as alive; whether it is, its heartbeat tells. */
const isAlive = (holder: Holder, path: string): boolean => {
  const { began, pid } = holder
  if (!isSeenFromHere(holder)) return true
  // An earlier process may have had our own id, as the first one of a container has.
  if (pid === process.pid) return held.has(path)
  return pid > 0 && exists(pid) && beganOf(pid) === began
}

const readHolder = (path: string): Holder | undefined => {
  try {
    const { began, host, pid, space } = JSON.parse(readFileSync(path, "utf8"))
    if (typeof began === "string" && typeof host === "string" && Number.isInteger(pid)) {
      return { began, host, pid, space: typeof space === "string" ? space : "" }
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined
    if (!(error instanceof SyntaxError)) throw error
  }
  // Written by no holder of ours, or cut off with its machine: nobody to wait for.
  return { began: "", host: hostname(), pid: 0, space: ownSpace() }
}

/** Makes a file with its whole text in one step, unless it is there. */
const create = (path: string, text: string): boolean => {
  const draft = `${path}.${process.pid}`
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

/** Removes the lock of a dead holder. One process at a time judges and removes, so that no living one's is lost. */
const clearDead = (path: string, isSilent: boolean): void => {
  const takeover = `${path}.takeover`
  if (!create(takeover, "")) {
    const began = statSync(takeover, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (Date.now() - began > TAKEOVER_MILLISECONDS) rmSync(takeover, { force: true })
    return
  }
  try {
    const holder = readHolder(path)
    const isDead = holder !== undefined && (isSeenFromHere(holder) ? !isAlive(holder, path) : isSilent)
    if (isDead) rmSync(path, { force: true })
  } finally {
    rmSync(takeover, { force: true })
  }
}

/** Takes the lock, or says who has it; `undefined` when it was a dead one's and may be asked for again. */
const tryTake = (path: string): "taken" | Holder | undefined => {
  const own: Holder = {
    pid: process.pid,
    host: hostname(),
    began: beganOf(process.pid),
    space: ownSpace()
  }
  if (create(path, JSON.stringify(own))) {
    held.add(path)
    return "taken"
  }
  const holder = readHolder(path)
  if (holder !== undefined && isAlive(holder, path)) return holder
  clearDead(path, false)
  return undefined
}

const heldBy = (folder: string, path: string, holder: string): FolderHeld =>
  new FolderHeld({ folder, lock: path, holder })

const beatOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs

/** Watches a holder that cannot be seen from here, and removes its lock if it is silent for so long. */
const outwait = Effect.fnUntraced(function* (path: string, silence: Duration.Input) {
  const before = beatOf(path)
  yield* Effect.sleep(silence)
  const isSilent = before !== undefined && beatOf(path) === before
  if (isSilent) clearDead(path, true)
  return isSilent
})

const beat = (path: string) =>
  Effect.sync(() => {
    const now = new Date()
    // A folder that is gone has no lock to keep.
    if (beatOf(path) !== undefined) utimesSync(path, now, now)
  }).pipe(Effect.repeat(Schedule.spaced(HEARTBEAT)))

/**
 * Holds a folder for this process until the scope closes, through a lock file beside it. The lock of a holder that
 * died is taken over: at once where its process can be seen, else (another machine or container, or a run of the
 * machine before) once its lock was not touched for `silence`.
 */
export const holdFolder = (
  folder: string,
  silence: Duration.Input = SILENCE
): Effect.Effect<void, FolderHeld, Scope.Scope> => {
  const path = `${resolve(folder)}.lock`
  const take = Effect.gen(function* () {
    mkdirSync(dirname(path), { recursive: true, mode: FOLDER_MODE })
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const holder = tryTake(path)
      if (holder === "taken") return
      if (holder !== undefined && !isSeenFromHere(holder) && (yield* outwait(path, silence))) continue
      if (holder !== undefined) {
        return yield* heldBy(folder, path, `process ${holder.pid} on ${holder.host}`)
      }
      yield* Effect.sleep("50 millis")
    }
    return yield* heldBy(folder, path, "a process that is starting")
  })
  const release = Effect.sync(() => {
    held.delete(path)
    rmSync(path, { force: true })
  })
  return Effect.acquireRelease(take, () => release).pipe(
    Effect.andThen(Effect.asVoid(Effect.forkScoped(beat(path))))
  )
}
