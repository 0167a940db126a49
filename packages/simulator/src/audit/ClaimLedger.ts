import type { StreamChange, UniqueClaim } from "@svc/domain/ports/MandateStore"
import type { Findings } from "./Findings.ts"

/** Who holds what may be claimed once. */
export class ClaimLedger {
  #held = new Map<string, UniqueClaim>()
  #replica = new Map<string, UniqueClaim>()
  /** The resource that callers were told for each key. */
  readonly #answered = new Map<string, string>()
  readonly #findings: Findings

  constructor(findings: Findings) {
    this.#findings = findings
  }

  recorded({ claims, mandate, organization }: StreamChange, clock: bigint): void {
    this.taken(organization, claims, clock, mandate)
  }

  taken(organization: string, claims: ReadonlyArray<UniqueClaim>, clock: bigint, about: string): void {
    for (const claim of claims) {
      const name = `${organization} ${claim.kind} ${claim.name}`
      const before = this.#held.get(name)
      const isFree = before === undefined || (before.expiresAt !== undefined && before.expiresAt <= clock)
      this.#findings.check("claims are made once", isFree, `${about}: ${name}`)
      this.#held.set(name, claim)
    }
  }

  /** A write under a key was answered with a resource. */
  answered(organization: string, key: string, resource: string): void {
    const name = `${organization} idempotency_key ${key}`
    const before = this.#answered.get(name) ?? resource
    this.#findings.check("one resource per key", before === resource, `${key}: ${before} and ${resource}`)
    this.#answered.set(name, resource)
    const held = this.#held.get(name)
    this.#findings.check(
      "acknowledged writes hold their keys",
      held?.resource === resource,
      `${key}: ${resource}`
    )
  }

  replicated(): void {
    this.#replica = new Map(this.#held)
  }

  tailLost(): void {
    this.#held = new Map(this.#replica)
    this.#answered.clear()
  }
}
