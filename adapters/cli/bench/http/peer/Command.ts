import type { Answer, Proposal, Report } from "./Decisions.ts"

interface Keyed {
  readonly organization: string
  readonly key: string
  readonly fingerprint: string
}

/** A request that changes something. */
export type Command = Keyed &
  (
    | { readonly kind: "propose"; readonly mandate: string; readonly body: Proposal }
    | { readonly kind: "commit"; readonly authorization: string; readonly body: Report }
  )

/** Carries a command out, once for its key. */
export type CommandHandler = (command: Command) => Promise<Answer>
