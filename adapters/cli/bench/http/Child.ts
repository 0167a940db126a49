import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"

/** Starts a program of this folder; with a log, what it prints goes to that file. */
export const startProgram = (file: string, words: ReadonlyArray<string>, log?: number): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), words, {
    serialization: "advanced",
    stdio: ["ignore", log ?? "inherit", log ?? "inherit", "ipc"]
  })

/** What a child says next; its end is a fault. */
export const saidBy = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const fail = (code: number | null) => reject(new Error(`a process ended with ${code}`))
    child.once("exit", fail)
    child.once("message", (message) => {
      child.off("exit", fail)
      resolve(message)
    })
  })

/** Resolves when a child has ended. */
export const endOf = (child: ChildProcess): Promise<void> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise((resolve) => child.once("exit", () => resolve()))
