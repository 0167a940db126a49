import type { Instant } from "@svc/protocol/Timestamp"
import type { StreamHead } from "../mandate/MandateState.ts"
import {
  type ClaimHolder,
  type ClaimName,
  ClaimTaken,
  OutOfTime,
  Stale,
  type StreamChange,
  type UniqueClaim
} from "../ports/MandateStore.ts"
import { brokenInvariant, isSameHead } from "./ChangeInvariant.ts"

/** What a store has where a change is to be recorded, read while nothing else is written there. */
export interface RecordedPlace {
  readonly now: Instant
  /** That of the stream, and of the subject that the change names. */
  readonly revision: number | undefined
  readonly subjectRevision: number | undefined
  readonly head: StreamHead | undefined
  /** Who holds a claim at `now`, if anybody. */
  readonly holderOf: (claim: ClaimName) => ClaimHolder | undefined
}

/** The refusal of the first claim that is held. */
export const takenClaim = (
  claims: ReadonlyArray<UniqueClaim>,
  holderOf: RecordedPlace["holderOf"]
): ClaimTaken | undefined => {
  for (const { kind, name } of claims) {
    const holder = holderOf({ kind, name })
    if (holder === undefined) continue
    const { fingerprint, resource } = holder
    return new ClaimTaken({ kind, name, holder: { fingerprint, resource } })
  }
  return undefined
}

/**
 * Why a store refuses a change, in the order of the port; `undefined` if it may be recorded. Throws for a change that no
 * correct caller produces.
 */
export const refusalOf = (
  change: StreamChange,
  place: RecordedPlace
): Stale | OutOfTime | ClaimTaken | undefined => {
  const { head, holderOf, now, revision = "absent", subjectRevision = "absent" } = place
  if (revision !== change.expected) return new Stale()
  if (change.subject !== undefined && subjectRevision !== change.subject.expected) return new Stale()
  if (now >= change.recordBefore) return new OutOfTime()
  const taken = takenClaim(change.claims, holderOf)
  if (taken !== undefined) return taken
  const broken =
    brokenInvariant(change) ??
    (isSameHead(head, change.headBefore) ? undefined : "the events do not follow the head")
  if (broken !== undefined) throw new Error(`the change cannot be recorded: ${broken}`)
  return undefined
}
