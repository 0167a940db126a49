import * as Schema from "effect/Schema"
import { described } from "./Described.ts"
import { parseTimestamp } from "./Timestamp.ts"

/** The form of a timestamp of a request for readers of JSON Schema; that the date is a real one is said in words. */
const REQUEST_FORM = "^[2-9]\\d{3}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,9})?Z$"

/** A timestamp of a request, as given: whatever `parseTimestamp` reads. */
export const Timestamp = Schema.String.check(
  Schema.makeFilter(
    (text: string) =>
      parseTimestamp(text) !== undefined ||
      "must be a UTC timestamp such as 2026-12-01T09:00:00Z, years 2000 to 9999",
    { toJsonSchema: () => ({ format: "date-time", pattern: REQUEST_FORM }) }
  )
).pipe(Schema.brand("Timestamp"))
export type Timestamp = typeof Timestamp.Type

/** A timestamp of a request as a member of it. */
export const requestTimestamp = (description: string, example: string) =>
  described(Timestamp, `${description} RFC 3339 in UTC with T and Z, 0 to 9 fraction digits.`, example)

/** A timestamp that the service set, in a response. */
export const serviceTimestamp = (description: string) =>
  described(
    Schema.String.annotate({ format: "date-time" }),
    `${description} RFC 3339 in UTC with nine fraction digits.`,
    "2026-12-01T09:00:00.000000000Z"
  )

/** A timestamp that a caller gave, in a response. */
export const callerTimestamp = (description: string) =>
  described(
    Schema.String.annotate({ format: "date-time" }),
    `${description} RFC 3339 in UTC, as it was given, less trailing zeros of the fraction.`,
    "2026-12-01T09:00:00Z"
  )
