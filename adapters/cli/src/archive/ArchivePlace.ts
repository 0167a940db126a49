import type { Effect } from "effect"
import type { StartFault } from "../start/StartFault.ts"

/** Where archived evidence is written: a folder, or a bucket. What is there once is never written again. */
export interface ArchivePlace {
  /** The content under a name, such as `org_.../mnd_.../5.evidence.json`; undefined if there is none. */
  readonly read: (name: string) => Effect.Effect<Uint8Array<ArrayBuffer> | undefined, StartFault>
  /** Writes a content as a whole and for good, unless the name is taken: then it leaves what is there. */
  readonly create: (name: string, content: Uint8Array<ArrayBuffer>) => Effect.Effect<void, StartFault>
}
