import type { DueStream } from "@svc/domain/ports/DueLeases"
import type { Instant, Nanos } from "@svc/protocol/Timestamp"
import { dueFirst } from "./DueOrder.ts"
import type { MemoryState } from "./MemoryState.ts"

/** Each of these is one synchronous step, so no two workers are given the same stream. */

export const takeDue = (
  state: MemoryState,
  query: { readonly token: string; readonly limit: number; readonly lasts: Nanos },
  now: Instant
): ReadonlyArray<DueStream> => {
  const free = [...state.tenants].flatMap(([organization, { dueLeases, streams }]) =>
    [...streams.values()]
      .filter(({ mandate }) => (dueLeases.get(mandate)?.expiresAt ?? now) <= now)
      .map(({ mandate, nextDue }) => ({ organization, mandate, nextDue }))
  )
  return dueFirst(free, now)
    .slice(0, query.limit)
    .map(({ mandate, organization }) => {
      const lease = { token: query.token, expiresAt: now + query.lasts }
      state.tenantToWrite(organization).dueLeases.set(mandate, lease)
      return { organization, mandate }
    })
}

export const releaseDue = (
  state: MemoryState,
  query: { readonly token: string; readonly streams: ReadonlyArray<DueStream> }
): void => {
  for (const { mandate, organization } of query.streams) {
    const dueLeases = state.tenant(organization)?.dueLeases
    if (dueLeases?.get(mandate)?.token === query.token) dueLeases.delete(mandate)
  }
}
