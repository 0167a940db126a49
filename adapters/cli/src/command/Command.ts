import type { Effect } from "effect"

/** One command of `svc`. */
export interface Command {
  /** Its words, such as `organization create`. */
  readonly name: string
  /** What its `--help` prints. */
  readonly help: string
  /** Carries it out with the words that follow its name; fails with a `StartFault` when it cannot as given. */
  readonly run: (words: ReadonlyArray<string>) => Effect.Effect<unknown, unknown>
}
