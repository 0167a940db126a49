import { tableRange } from "@svc/domain/calendar/PeriodGeometry"
import { epochSecondOf, offsetAt, prepareZone, type TimeZoneTable } from "@svc/domain/calendar/TimeZoneTable"
import type { MandateTerms } from "@svc/domain/mandate/JournalFact"
import { formatInstant, type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { instantIn, isSame } from "./Replay.ts"
import type { CheckRecorder, Warning } from "./Report.ts"

/** A time zone database. */
export interface ZoneDatabase {
  /** Such as `2026d`; absent where it is not known. */
  readonly version?: string
  /** The offsets of a zone, in seconds east of UTC, at seconds since the epoch; undefined for a zone that it lacks. */
  readonly offsetsOf: (name: string) => ((second: number) => number) | undefined
}

/** "GMT", "GMT+05:30", or with seconds, as local mean times had them: "GMT-00:43:08". */
const LONG_OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/u

const intlOffsets: ZoneDatabase["offsetsOf"] = (name) => {
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat("en-US-u-nu-latn", {
      timeZone: name,
      hour: "numeric",
      timeZoneName: "longOffset"
    })
  } catch {
    return undefined
  }
  return (second) => {
    const [, sign, hours = "0", minutes = "0", seconds = "0"] =
      LONG_OFFSET.exec(format.format(second * 1000)) ?? []
    const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
    return sign === "-" ? 0 - size : size
  }
}

const { process } = globalThis as { readonly process?: { readonly versions?: { readonly tz?: string } } }

/** The database of this runtime, through Intl. Its version is known in Node alone. */
export const intlZones: ZoneDatabase = {
  offsetsOf: intlOffsets,
  ...(process?.versions?.tz === undefined ? {} : { version: process.versions.tz })
}

const SECONDS_PER_DAY = 86_400
/** Stretches up to this long are compared daily, longer ones weekly: no change of offsets has lasted less. */
const DAILY_UP_TO_SECONDS = 100 * 366 * SECONDS_PER_DAY
const WEEK_SECONDS = 7 * SECONDS_PER_DAY
/** Intl shows years of four digits. */
const LAST_SECOND = 253_402_300_799

interface Range {
  readonly from: Instant
  readonly to: Instant
}

const rangeOf = ({ policy, window }: MandateTerms, name: string): Range =>
  tableRange(
    (policy.periods ?? []).filter((period) => period.time_zone === name),
    { startsAt: instantIn(window.starts_at), endsAt: instantIn(window.ends_at) }
  )

const UTC = "UTC"

/** What the tables must be, whatever the database: one for each zone, of the stretch that is needed, UTC without offsets. */
export const checkZoneTables = (terms: MandateTerms, checks: CheckRecorder): void => {
  checks.made("zone_tables")
  const fault = (member: string, detail: string) =>
    checks.fault("zone_tables", { seq: 1, member: `/data/time_zones${member}`, detail })
  const zones = [...new Set((terms.policy.periods ?? []).map(({ time_zone }) => time_zone))]
  const tables = terms.time_zones.map(({ name }) => name)
  if (!isSame(zones, tables)) {
    fault("", "there is not one table for each time zone of the periods, in their order")
    return
  }
  for (const [index, table] of terms.time_zones.entries()) {
    const { from, to } = rangeOf(terms, table.name)
    const outside = table.transitions.findIndex(({ at }) => {
      const instant = secondOf(at)
      return instant <= from || instant > to
    })
    if (outside >= 0) {
      fault(`/${index}/transitions/${outside}`, "it is outside of the stretch that the table is of")
    }
    const offsets = [
      table.offset_seconds,
      ...table.transitions.map((transition) => transition.offset_seconds)
    ]
    const idle = table.transitions.findIndex((transition, at) => transition.offset_seconds === offsets[at])
    if (idle >= 0) fault(`/${index}/transitions/${idle}`, "it changes nothing")
    if (table.name === UTC && (table.offset_seconds !== 0 || table.transitions.length > 0)) {
      fault(`/${index}`, "UTC has no offset")
    }
  }
}

/** Instants before the year 2000 occur in tables, not in requests. */
const secondOf = (at: string): Instant => BigInt(Date.parse(at) / 1000) * NANOS_PER_SECOND

/** The first second at which a table and a database disagree. */
const firstDifference = (
  table: TimeZoneTable,
  { from, to }: Range,
  offsetIn: (second: number) => number
): number | undefined => {
  const zone = prepareZone(table)
  const first = epochSecondOf(from)
  const last = Math.min(epochSecondOf(to), LAST_SECOND)
  const step = last - first > DAILY_UP_TO_SECONDS ? WEEK_SECONDS : SECONDS_PER_DAY
  const changes = table.transitions.flatMap(({ at }) => {
    const second = epochSecondOf(secondOf(at))
    return [second - 1, second]
  })
  const differs = (second: number) => offsetIn(second) !== offsetAt(zone, BigInt(second) * NANOS_PER_SECOND)
  let found = changes.find((second) => second >= first && second <= last && differs(second))
  for (let second = first; second <= last && (found === undefined || second < found); second += step) {
    if (differs(second)) found = second
  }
  return found
}

/**
 * Compares the tables with a database. Where they differ, the evidence is at fault if the database is of the version that the
 * table names, or if it is of a later one and they differ about the time before the mandate was made: laws change the future
 * alone. Otherwise it cannot be said.
 */
export const checkZones = (
  { created, terms }: { readonly terms: MandateTerms; readonly created: Instant },
  database: ZoneDatabase | undefined,
  checks: CheckRecorder
): ReadonlyArray<Warning> => {
  const warnings: Array<Warning> = []
  if (terms.time_zones.length === 0) {
    checks.notApplicable("time_zones", "the mandate has no periods")
    return warnings
  }
  if (database === undefined) {
    checks.notPinned("time_zones", "zones not checked: there is no time zone database")
    return warnings
  }
  for (const [index, table] of terms.time_zones.entries()) {
    if (table.name === UTC) continue
    const offsets = database.offsetsOf(table.name)
    if (offsets === undefined) {
      checks.notPinned("time_zones", `zones not checked: the database has no zone ${table.name}`)
      continue
    }
    const { version } = database
    const second = firstDifference(table, rangeOf(terms, table.name), offsets)
    if (second === undefined) continue
    const instant = BigInt(second) * NANOS_PER_SECOND
    const detail = `${table.name} has another offset at ${formatInstant(instant)} (the table is of version ${table.tzdb_version}, the database ${version ?? "of an unknown one"})`
    const isLater = version !== undefined && version > table.tzdb_version
    if (version === table.tzdb_version || (isLater && instant < created)) {
      checks.fault("time_zones", { seq: 1, member: `/data/time_zones/${index}`, detail })
    } else {
      checks.notPinned("time_zones", `zones differ: ${detail}`)
      warnings.push({ code: "time_zones_differ", seq: 1, detail })
    }
  }
  checks.made("time_zones")
  return warnings
}
