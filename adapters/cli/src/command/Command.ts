import type { Effect } from "effect"

/** One command of `svc`. */
export interface Command {
  /** Its words after `svc`, such as `organization create`. */
  readonly name: string
  /** The text of its `--help`. */
  readonly help: string
  /** Runs the command with the words after its name. Fails with a `StartFault` when they or the settings are invalid. */
  readonly run: (words: ReadonlyArray<string>) => Effect.Effect<unknown, unknown>
}
