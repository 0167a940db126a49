import type { ClaimHolder, ClaimKind, UniqueClaim } from "@svc/domain/ports/MandateStore"
import type { Instant } from "@svc/protocol/Timestamp"

/** Below so many claims with an end, a sweep is not worth its while. */
const SMALLEST_SWEEP = 1024

/**
 * The unique claims of one organization. Claims with an end are free from that instant on, and are swept
 * once twice as many are kept as the last sweep left: memory follows the claims alive, and a sweep costs
 * each claim a constant share.
 */
export class ClaimTable {
  readonly #lasting = new Map<string, UniqueClaim>()
  readonly #ending = new Map<string, UniqueClaim>()
  #sweepAt = SMALLEST_SWEEP

  /** Who holds the claim at `now`, if anybody. */
  holder(kind: ClaimKind, name: string, now: Instant): ClaimHolder | undefined {
    const key = keyOf(kind, name)
    const claim = this.#lasting.get(key) ?? this.#ending.get(key)
    if (claim === undefined || hasEnded(claim, now)) return undefined
    return { fingerprint: claim.fingerprint, resource: claim.resource }
  }

  /** Records a claim that nobody holds. */
  take(claim: UniqueClaim, now: Instant): void {
    const key = keyOf(claim.kind, claim.name)
    this.#ending.delete(key)
    if (claim.expiresAt === undefined) {
      this.#lasting.set(key, claim)
      return
    }
    this.#ending.set(key, claim)
    if (this.#ending.size >= this.#sweepAt) this.#sweep(now)
  }

  /** How many claims are kept, ended ones that were not swept yet included. */
  get size(): number {
    return this.#lasting.size + this.#ending.size
  }

  #sweep(now: Instant): void {
    for (const [key, claim] of this.#ending) if (hasEnded(claim, now)) this.#ending.delete(key)
    this.#sweepAt = Math.max(SMALLEST_SWEEP, this.#ending.size * 2)
  }
}

const keyOf = (kind: ClaimKind, name: string): string => `${kind} ${name}`

const hasEnded = (claim: UniqueClaim, now: Instant): boolean =>
  claim.expiresAt !== undefined && claim.expiresAt <= now
