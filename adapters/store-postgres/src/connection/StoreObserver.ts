import { Context } from "effect"

/** What of a store can be read at any time: changes that wait for a statement, and the use of the connections for writes. */
export type StoreReading = "queued_changes" | "busy_connections" | "awaited_connections"

/** Is told of what happens between the ports of a store and its database. */
export interface StoreObserver {
  /** A statement has been sent that appends so many changes. */
  readonly appending: (changes: number) => void
  /** Gives a function that reads a number as it is at the time. A store gives each once, when it is opened. */
  readonly offer: (reading: StoreReading, read: () => number) => void
}

/** Who is told. By default nobody. */
export const StoreObserver = Context.Reference<StoreObserver | undefined>(
  "@svc/store-postgres/connection/StoreObserver",
  { defaultValue: () => undefined }
)
