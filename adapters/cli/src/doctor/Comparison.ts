import type { MissingRecords } from "@svc/store-postgres/diagnosis/MissingRecords"

/** What another database has and the store has not. */
export interface Comparison extends MissingRecords {
  /**
   * Nothing is missing, but the other database is a standby that may be a copy of the store, which lacks nothing of itself
   * whatever was lost.
   */
  readonly other_may_be_copy: boolean
}

/** Whether the other database has anything that this one has not. */
export const isMissingAny = ({
  authorizations,
  mandates,
  operator_commands: commands
}: MissingRecords): boolean => mandates.length + authorizations.length + commands.length > 0

/** What cannot be told of a database that may be a copy, and what to do. */
export const POSSIBLE_COPY = {
  found:
    "it cannot be told whether anything is missing: the other database is a standby that may have been one of this store, and then has what this has",
  remedy: "name the lost primary, or a standby of it"
} as const
