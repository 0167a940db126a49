import type { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import type { Instant } from "@svc/protocol/Timestamp"
import type { MemoryState, MemoryWebhookEndpoint, Tenant } from "./MemoryState.ts"

type Step = Parameters<StoreCleaning["Service"]["clean"]>[0]

/** The deliveries of an endpoint that ended before the instant; none of a deleted one. */
const oldDeliveries = (entry: MemoryWebhookEndpoint, endedBy: Instant): ReadonlyArray<string> =>
  entry.endpoint.status === "deleted"
    ? []
    : [...entry.endedAt].flatMap(([id, endedAt]) => (endedAt <= endedBy ? [id] : []))

const cleanTenant = (tenant: Tenant, clock: Instant, { keptFor }: Step, limit: number): number => {
  let removed = tenant.claims.removeExpired(clock - keptFor.claims, limit)
  const freed = new Set<string>()
  for (const entry of tenant.webhooks.values()) {
    for (const id of oldDeliveries(entry, clock - keptFor.deliveries).slice(0, limit - removed)) {
      entry.deliveries.delete(id)
      entry.endedAt.delete(id)
      freed.add(id)
      removed += 1
    }
  }
  if (freed.size > 0) tenant.claims.removeOf(freed)
  return removed
}

export const clean = (state: MemoryState, step: Step, now: Instant) => {
  const clock = now < step.now ? now : step.now
  const left = [...state.tenants].filter(([id]) => step.after === undefined || id > step.after).sort()
  let removed = 0
  let next = step.after
  for (const [organization, tenant] of left.slice(0, step.organizations)) {
    removed += cleanTenant(tenant, clock, step, step.limit - removed)
    // There may be more of it.
    if (removed >= step.limit) return { removed, ...(next === undefined ? { next: "" } : { next }) }
    next = organization
  }
  return { removed, ...(left.length > step.organizations && next !== undefined ? { next } : {}) }
}
