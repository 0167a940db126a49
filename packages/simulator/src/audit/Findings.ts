import type { AuditLog } from "@svc/testkit/AuditLog"

/** What broke, of which resource. */
export interface Finding {
  readonly invariant: string
  readonly about: string
}

/** Collects what an audit finds broken, and counts its checks. */
export class Findings implements AuditLog {
  readonly broken: Array<Finding> = []
  checks = 0

  readonly check = (invariant: string, holds: boolean, about: string): void => {
    this.checks += 1
    if (!holds) this.broken.push({ invariant, about })
  }
}
