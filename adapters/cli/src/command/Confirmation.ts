import { createInterface } from "node:readline/promises"
import { Context, Effect } from "effect"

/**
 * Asks whoever is at the terminal to confirm what cannot be undone. Absent where there is no terminal: nothing waits for an
 * answer that nobody gives.
 */
export class Confirmation extends Context.Reference<
  ((question: string) => Effect.Effect<boolean>) | undefined
>("@svc/cli/command/Confirmation", {
  defaultValue: () =>
    process.stdin.isTTY === true && process.stderr.isTTY === true
      ? (question) =>
          Effect.promise(async (signal) => {
            const asking = createInterface({ input: process.stdin, output: process.stderr })
            try {
              return (await asking.question(`${question} [y/N] `, { signal })).trim().toLowerCase() === "y"
            } catch {
              return false
            } finally {
              asking.close()
            }
          })
      : undefined
}) {}
