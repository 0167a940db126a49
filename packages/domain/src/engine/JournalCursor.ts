import { sha256Base64Url } from "@svc/protocol/crypto/Sha256"
import { Effect } from "effect"
import { InvalidCursor } from "../Refusals.ts"
import { type ListScope, textCursor } from "./Cursor.ts"

/** An event of a mandate's journal, as a cursor names it. */
export interface JournalPosition {
  readonly seq: number
  /** Of the event's canonical text, and so, by its chain of hashes, of every event up to it. */
  readonly digest: string
}

const POSITION = /^([1-9][0-9]{0,14})\.([A-Za-z0-9_-]{43})$/u

/** The position after the event with this `seq` and text, as a cursor holds it. */
export const journalPosition = (seq: number, text: string): string => `${seq}.${sha256Base64Url(text)}`

/** Whether an event is the one that the cursor was given after: in another history another event has its place. */
export const isAt = ({ digest }: JournalPosition, text: string | undefined): boolean =>
  text !== undefined && sha256Base64Url(text) === digest

/** The event in a cursor of a journal. */
export const journalCursor = (
  scope: ListScope,
  cursor: unknown
): Effect.Effect<JournalPosition | undefined, InvalidCursor> =>
  Effect.flatMap(textCursor(scope, cursor), (after) => {
    if (after === undefined) return Effect.succeed(undefined)
    const [, seq, digest] = POSITION.exec(after) ?? []
    return digest === undefined
      ? Effect.fail(new InvalidCursor())
      : Effect.succeed({ seq: Number(seq), digest })
  })
