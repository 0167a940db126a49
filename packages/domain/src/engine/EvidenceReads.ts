import { Context, Effect, type Scope } from "effect"

/** Most reads of evidence of one organization that are under way in one process. */
export const MAX_EVIDENCE_READS = 8
/** How long a read of evidence may take, in seconds: then its place is free, and what is left of it is not given. */
export const EVIDENCE_READ_SECONDS = 600

/** The reads of evidence that are under way in one process. */
export interface Reads {
  /** Whether an organization may begin no more of them now. */
  readonly areAll: (organization: string) => boolean
  /**
   * Takes a place until the scope closes, and for `EVIDENCE_READ_SECONDS` at most. The result tells whether the read still
   * has it.
   */
  readonly begin: (organization: string) => Effect.Effect<() => boolean, never, Scope.Scope>
}

export const makeEvidenceReads = (): Reads => {
  const underWay = new Map<string, number>()
  const count = (organization: string, change: 1 | -1) => {
    const reads = (underWay.get(organization) ?? 0) + change
    if (reads === 0) underWay.delete(organization)
    else underWay.set(organization, reads)
  }
  return {
    areAll: (organization) => (underWay.get(organization) ?? 0) >= MAX_EVIDENCE_READS,
    begin: Effect.fnUntraced(function* (organization) {
      let isUnderWay = true
      const end = Effect.sync(() => {
        if (isUnderWay) count(organization, -1)
        isUnderWay = false
      })
      yield* Effect.acquireRelease(
        Effect.sync(() => count(organization, 1)),
        () => end
      )
      yield* Effect.forkScoped(Effect.delay(end, `${EVIDENCE_READ_SECONDS} seconds`))
      return () => isUnderWay
    })
  }
}

/** How many read the evidence of an organization at once, in this process. */
export class EvidenceReads extends Context.Reference<Reads>("@svc/domain/engine/EvidenceReads", {
  defaultValue: makeEvidenceReads
}) {}
