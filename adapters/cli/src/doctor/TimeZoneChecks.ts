import { TIME_ZONE_NAMES } from "@svc/time-zones/TimeZoneNames"
import { offsetsOf } from "@svc/time-zones/ZoneOffsets"
import { type Check, failed, namedList, ok, warning } from "./Check.ts"

/** An offset that the release of the time zone database that is named changed, or a zone that it added. */
interface Canary {
  readonly zone: string
  readonly at: string
  /** Seconds east of UTC. */
  readonly offset: number
  readonly since: string
}

/** Rules that changed in the last years, oldest first; the first never did. */
export const CANARIES: ReadonlyArray<Canary> = [
  { zone: "Europe/Berlin", at: "2026-07-01T00:00:00Z", offset: 7200, since: "1996a" },
  { zone: "Asia/Amman", at: "2022-12-01T00:00:00Z", offset: 10_800, since: "2022e" },
  { zone: "America/Mexico_City", at: "2023-07-01T00:00:00Z", offset: -21_600, since: "2022f" },
  { zone: "America/Ciudad_Juarez", at: "2023-07-01T00:00:00Z", offset: -21_600, since: "2022g" },
  { zone: "Africa/Cairo", at: "2023-07-01T00:00:00Z", offset: 10_800, since: "2023c" },
  { zone: "America/Scoresbysund", at: "2024-12-01T00:00:00Z", offset: -7200, since: "2023d" },
  { zone: "Asia/Almaty", at: "2024-06-01T00:00:00Z", offset: 18_000, since: "2024a" },
  { zone: "America/Asuncion", at: "2025-07-01T00:00:00Z", offset: -10_800, since: "2025a" }
]

/** The offset of a zone at an instant; absent where the zone is not known. */
export type OffsetAtInstant = (zone: string, at: string) => number | undefined

const MILLISECONDS_PER_SECOND = 1000

/** The offsets of this process. */
export const processOffset: OffsetAtInstant = (zone, at) => {
  try {
    return offsetsOf(zone)(Date.parse(at) / MILLISECONDS_PER_SECOND)
  } catch {
    // Intl knows no such zone.
    return undefined
  }
}

export interface TimeZoneFacts {
  /** The release of the time zone database, such as `2026a`. */
  readonly release: string | undefined
  /** Zones whose names callers may use and that the data lack. */
  readonly unknown: ReadonlyArray<string>
  /** Canaries whose offset is another. */
  readonly outdated: ReadonlyArray<Canary>
}

/** The zone of a system that nobody has set up: it is in the database, and Intl offers it nowhere. */
const PLACEHOLDER = "Factory"

const ANY_INSTANT = "2026-01-01T00:00:00Z"

export const timeZoneFacts = (offsetAt: OffsetAtInstant, release: string | undefined): TimeZoneFacts => ({
  release,
  unknown: [...TIME_ZONE_NAMES].filter(
    (zone) => zone !== PLACEHOLDER && offsetAt(zone, ANY_INSTANT) === undefined
  ),
  outdated: CANARIES.filter(({ at, offset, zone }) => offsetAt(zone, at) !== offset)
})

const REMEDY =
  "use the Node.js that this release came with or a later one, with its full ICU data, and leave NODE_ICU_DATA unset"

export const namesCheck: Check<TimeZoneFacts> = {
  name: "time_zones.names",
  judge: ({ unknown }) =>
    unknown.length === 0
      ? ok("every name is known")
      : failed(`${namedList(unknown)}: not known here, so mandates in these zones are refused`, REMEDY)
}

export const rulesCheck: Check<TimeZoneFacts> = {
  name: "time_zones.rules",
  judge: ({ outdated, release }) => {
    const [first] = outdated
    if (first !== undefined) {
      return failed(
        `tzdata ${release ?? "of an unknown release"} is older than ${first.since}: ${namedList(outdated.map(({ zone }) => zone))} would be wrong in mandates that are made now`,
        REMEDY
      )
    }
    return release === undefined
      ? warning("the process does not say which release of tzdata it has, so mandates cannot either", REMEDY)
      : ok(`tzdata ${release}`)
  }
}

/** What the time zone data of this process tell. */
export const TIME_ZONE_CHECKS: ReadonlyArray<Check<TimeZoneFacts>> = [namesCheck, rulesCheck]
