/** What an audit reports to: each check it makes, whether it holds, and what it was made of. */
export interface AuditLog {
  readonly check: (name: string, holds: boolean, about: string) => void
}

/** The outcome of an audit that goes on after a fault. */
export interface AuditReport {
  /** How often each check was made, and held. */
  readonly counts: ReadonlyMap<string, number>
  readonly faults: ReadonlyArray<string>
}

/** A log that counts the checks that hold, and collects the faults. */
export const collectChecks = (): AuditLog & AuditReport => {
  const counts = new Map<string, number>()
  const faults: Array<string> = []
  return {
    counts,
    faults,
    check: (name, holds, about) => {
      if (holds) counts.set(name, (counts.get(name) ?? 0) + 1)
      else faults.push(`${name}: ${about}`)
    }
  }
}
