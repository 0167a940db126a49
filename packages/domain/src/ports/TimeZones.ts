/** The port to the time zone database. Used when a mandate is created, never afterwards (part 4). */
import type { Instant } from "@svc/protocol/Timestamp"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { TimeZoneTable } from "../calendar/TimeZoneTable.ts"

/** The name is no zone or link of the time zone database in its exact case. */
export class UnknownTimeZone extends Schema.TaggedError<UnknownTimeZone>()("UnknownTimeZone", {
  time_zone: Schema.String
}) {}

export class TimeZones extends Context.Service<
  TimeZones,
  {
    /**
     * The fixed table of a zone: its offset at `from`, and every change of offset strictly after `from`, up to
     * and including `to`.
     */
    readonly table: (request: {
      readonly name: string
      readonly from: Instant
      readonly to: Instant
    }) => Effect.Effect<TimeZoneTable, UnknownTimeZone>

    /** Whether the name, in this very case, is a zone or link for which there are tables. */
    readonly isKnown: (name: string) => boolean
  }
>()("@svc/domain/ports/TimeZones") {}
