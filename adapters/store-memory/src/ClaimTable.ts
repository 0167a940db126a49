import type { ClaimHolder, ClaimKind, UniqueClaim } from "@svc/domain/ports/MandateStore"
import type { Instant } from "@svc/protocol/Timestamp"

/** Fewest expiring claims for which a sweep is worthwhile. */
const SMALLEST_SWEEP = 1024

/**
 * The unique claims of one organization. A claim that expires is free from that instant on. Expired claims are swept when
 * twice as many are kept as the last sweep left, so memory follows the live claims at a constant cost per claim.
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

  /** How many claims are kept, including expired ones that are not swept yet. */
  get size(): number {
    return this.#lasting.size + this.#ending.size
  }

  copy(): ClaimTable {
    const copy = new ClaimTable()
    for (const [key, claim] of this.#lasting) copy.#lasting.set(key, claim)
    for (const [key, claim] of this.#ending) copy.#ending.set(key, claim)
    copy.#sweepAt = this.#sweepAt
    return copy
  }

  /** Removes claims that expired at the instant or before, at most as many as given. Returns how many there were. */
  removeExpired(by: Instant, limit: number): number {
    let removed = 0
    for (const [key, claim] of this.#ending) {
      if (removed >= limit) break
      if (hasEnded(claim, by) && this.#ending.delete(key)) removed += 1
    }
    return removed
  }

  /** Removes the claims that stand for resources which are gone. */
  removeOf(resources: ReadonlySet<string>): void {
    for (const [key, { resource }] of this.#lasting) if (resources.has(resource)) this.#lasting.delete(key)
  }

  #sweep(now: Instant): void {
    for (const [key, claim] of this.#ending) if (hasEnded(claim, now)) this.#ending.delete(key)
    this.#sweepAt = Math.max(SMALLEST_SWEEP, this.#ending.size * 2)
  }
}

const keyOf = (kind: ClaimKind, name: string): string => `${kind} ${name}`

const hasEnded = (claim: UniqueClaim, now: Instant): boolean =>
  claim.expiresAt !== undefined && claim.expiresAt <= now
