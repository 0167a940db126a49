/** What a sender is to send from, and where to. */
export interface Load {
  readonly databaseUrl: string
  /** Targets of the deliveries, which take turns. */
  readonly targets: ReadonlyArray<string>
  readonly deliveries: number
}

/** Something that sends what is queued in a database. */
export interface Sender {
  /** Queues everything. */
  readonly fill: () => Promise<void>
  /** Sends; returns once it is under way. */
  readonly start: () => Promise<void>
  /** Whether something is queued, or is not recorded as delivered yet. */
  readonly isBusy: () => Promise<boolean>
}

/** Bodies have the size of a webhook's. */
export const bodyOf = (number: number): string =>
  JSON.stringify({
    data: { mandate_id: "mnd_01jd0000000000000000000000", state: "ACTIVE", version: 1 },
    id: `evt_${String(number).padStart(26, "0")}`,
    occurred_at: "2026-11-28T12:00:00Z",
    type: "mandate.activated"
  })
