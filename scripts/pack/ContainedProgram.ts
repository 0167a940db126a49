/** Runs programs of an image as a container does, where this machine permits that; else as plain processes. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

const NODE = "/usr/local/bin/node"

/** Namespaces of its own for processes and mounts. */
const UNSHARE = ["--mount", "--pid", "--fork", "--kill-child"]

/** Whether programs can be contained: this is Linux, as root, with the right to new namespaces. */
export const canContain =
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  spawnSync("unshare", [...UNSHARE, "setpriv", "--no-new-privs", "mount", "-t", "tmpfs", "none", "/tmp"])
    .status === 0

/** The libraries that a program is linked with. */
const librariesOf = (program: string): ReadonlyArray<string> =>
  spawnSync("ldd", [program], { encoding: "utf8" }).stdout.match(/\/\S+/gu) ?? []

/**
 * Makes a file system with Node, the libraries that it needs, and nothing else: no shell, no user database, no home, no `/tmp`.
 */
export const prepareFileSystem = (base: string): void => {
  for (const folder of ["proc", "dev"]) mkdirSync(join(base, folder), { recursive: true })
  if (!canContain) return
  for (const [from, to] of [
    [process.execPath, NODE],
    ...librariesOf(process.execPath).map((file) => [file, file])
  ]) {
    if (from === undefined || to === undefined) continue
    mkdirSync(dirname(join(base, to)), { recursive: true })
    copyFileSync(from, join(base, to))
    chmodSync(join(base, to), 0o555)
  }
}

/** Binds the file system read-only, enters it, and becomes a plain user without rights; `$0` is the base, `$1` the user. */
const ENTER = `
set -e
mount --make-rprivate /
mount --bind "$0" "$0"
mount -o remount,bind,ro "$0"
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
base=$0 user=$1
shift
exec setpriv --no-new-privs chroot --userspec="$user" --groups= "$base" "$@"
`

/** The one process that `unshare` waits for; it is process 1 of its container. */
const firstProcess = (parent: number): number =>
  Number(readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8").trim())

/** A program that has been started. */
export interface Started {
  readonly output: () => string
  /** Resolves when it has printed a text; rejects if it ends before that. */
  readonly until: (text: string) => Promise<void>
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number | null>
  readonly signal: (signal: NodeJS.Signals) => void
}

const outputOf = (child: ChildProcess) => {
  let output = ""
  const waiting = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text
      for (const look of waiting) look()
    })
  }
  return { output: () => output, waiting }
}

/** Starts a program with these words and variables alone, in a file system made by {@link prepareFileSystem}. */
export const start = (
  base: string,
  user: string,
  [program = "", ...words]: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>
): Started => {
  const outside = program === NODE ? process.execPath : program
  const child = canContain
    ? spawn("unshare", [...UNSHARE, "sh", "-c", ENTER, base, user, program, ...words], {
        env: { PATH: process.env.PATH, ...env },
        stdio: ["ignore", "pipe", "pipe"]
      })
    : spawn(outside, words, { env, stdio: ["ignore", "pipe", "pipe"] })
  const end = () => child.kill("SIGKILL")
  process.once("exit", end)
  const ended = once(child, "close").then(([code]: ReadonlyArray<number | null>) => {
    process.off("exit", end)
    return code ?? null
  })
  const { output, waiting } = outputOf(child)
  return {
    output,
    ended,
    until: (text) => {
      const printed = new Promise<void>((resolve) => {
        const look = () => {
          if (output().includes(text)) resolve()
        }
        waiting.add(look)
        look()
      })
      const early = ended.then((code) => {
        throw new Error(`it ended with ${code} before it printed ${text}:\n${output()}`)
      })
      return Promise.race([printed, early])
    },
    signal: (signal) => {
      if (child.pid === undefined || child.exitCode !== null) return
      if (canContain) process.kill(firstProcess(child.pid), signal)
      else child.kill(signal)
    }
  }
}
