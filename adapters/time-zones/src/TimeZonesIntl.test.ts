import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert, describe, it, layer } from "@effect/vitest"
import { dateOfDayNumber, dayNumberOf, type LocalDate } from "@svc/domain/calendar/LocalDate"
import {
  firstInstantOf,
  isTimeZoneTable,
  localDateOf,
  prepareZone,
  type TimeZoneTable
} from "@svc/domain/calendar/TimeZoneTable"
import { TimeZones } from "@svc/domain/ports/TimeZones"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { TIME_ZONE_NAMES } from "./TimeZoneNames.ts"
import { FIRST_YEAR_OF_CHANGES, layer as timeZonesIntl } from "./TimeZonesIntl.ts"
import { offsetsOf } from "./ZoneOffsets.ts"

const SECOND = 1_000_000_000n
const HOUR_SECONDS = 3_600

const instantOf = (timestamp: string) => BigInt(Date.parse(timestamp)) * 1_000_000n

const tableOf = Effect.fn("tableOf")(function* (name: string, from: string, to: string) {
  const timeZones = yield* TimeZones
  return yield* timeZones.table({ name, from: instantOf(from), to: instantOf(to) })
})

const hours = (table: TimeZoneTable) => [
  table.offset_seconds / HOUR_SECONDS,
  ...table.transitions.map(({ at, offset_seconds }) => [at, offset_seconds / HOUR_SECONDS])
]

layer(timeZonesIntl)("TimeZonesIntl", (it) => {
  it.effect.each([
    [
      "Europe/Berlin",
      ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"],
      [1, ["2020-03-29T01:00:00Z", 2], ["2020-10-25T01:00:00Z", 1]]
    ],
    [
      "America/Sao_Paulo",
      ["2018-06-01T00:00:00Z", "2024-01-01T00:00:00Z"],
      [-3, ["2018-11-04T03:00:00Z", -2], ["2019-02-17T02:00:00Z", -3]]
    ],
    [
      "Asia/Beirut",
      ["2022-01-01T00:00:00Z", "2022-12-31T00:00:00Z"],
      [2, ["2022-03-26T22:00:00Z", 3], ["2022-10-29T21:00:00Z", 2]]
    ],
    [
      "Africa/Cairo",
      ["2015-01-01T00:00:00Z", "2024-01-01T00:00:00Z"],
      [2, ["2023-04-27T22:00:00Z", 3], ["2023-10-26T21:00:00Z", 2]]
    ],
    [
      "America/Havana",
      ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"],
      [-5, ["2020-03-08T05:00:00Z", -4], ["2020-11-01T05:00:00Z", -5]]
    ],
    ["Pacific/Apia", ["2011-10-01T00:00:00Z", "2012-03-01T00:00:00Z"], [-10, ["2011-12-30T10:00:00Z", 14]]],
    [
      "Africa/Casablanca",
      ["2019-01-01T00:00:00Z", "2020-01-01T00:00:00Z"],
      [1, ["2019-05-05T02:00:00Z", 0], ["2019-06-09T02:00:00Z", 1]]
    ],
    [
      "Australia/Lord_Howe",
      ["2020-01-01T00:00:00Z", "2020-12-31T00:00:00Z"],
      [11, ["2020-04-04T15:00:00Z", 10.5], ["2020-10-03T15:30:00Z", 11]]
    ],
    ["UTC", ["1200-01-01T00:00:00Z", "2060-01-01T00:00:00Z"], [0]]
  ] as const)("%s", ([name, [from, to], expected]) =>
    Effect.gen(function* () {
      const table = yield* tableOf(name, from, to)
      assert.deepStrictEqual(hours(table), expected as unknown)
      assert.strictEqual(table.name, name)
      assert.strictEqual(table.tzdb_version, process.versions.tz)
    })
  )

  it.effect("takes the offset at from, what comes strictly after, and what comes at to", () =>
    Effect.gen(function* () {
      const timeZones = yield* TimeZones
      const spring = instantOf("2020-03-29T01:00:00Z")
      const autumn = instantOf("2020-10-25T01:00:00Z")
      const between = (from: bigint, to: bigint) =>
        timeZones.table({ name: "Europe/Berlin", from, to }).pipe(Effect.map(hours))
      assert.deepStrictEqual(yield* between(spring, autumn), [2, ["2020-10-25T01:00:00Z", 1]])
      assert.deepStrictEqual(yield* between(spring - 1n, autumn - 1n), [1, ["2020-03-29T01:00:00Z", 2]])
      assert.deepStrictEqual(yield* between(spring, spring), [2])
    })
  )

  it.effect("finds a change at the turn of a UTC year, once, from either side", () =>
    Effect.gen(function* () {
      const turn = ["1912-01-01T00:00:00Z", 0]
      const whole = yield* tableOf("Europe/Lisbon", "1911-06-01T00:00:00Z", "1912-06-01T00:00:00Z")
      const before = yield* tableOf("Europe/Lisbon", "1911-12-31T23:59:59Z", "1912-01-01T00:00:00Z")
      const after = yield* tableOf("Europe/Lisbon", "1912-01-01T00:00:00Z", "1912-06-01T00:00:00Z")
      assert.deepStrictEqual(hours(whole), [-2_205 / HOUR_SECONDS, turn])
      assert.deepStrictEqual(hours(before), [-2_205 / HOUR_SECONDS, turn])
      assert.deepStrictEqual(hours(after), [0])
    })
  )

  it.effect("reaches back to local mean time, and gives tables that a reader accepts", () =>
    Effect.gen(function* () {
      const table = yield* tableOf("America/New_York", "1304-01-01T00:00:00Z", "2047-01-01T00:00:00Z")
      assert.strictEqual(table.offset_seconds, -17_762)
      assert.deepStrictEqual(table.transitions[0], {
        at: "1883-11-18T17:00:00Z",
        offset_seconds: -5 * HOUR_SECONDS
      })
      assert.isTrue(isTimeZoneTable(table))
      const again = yield* tableOf("America/New_York", "1304-01-01T00:00:00Z", "2047-01-01T00:00:00Z")
      assert.deepStrictEqual(again, table)
    })
  )

  it.effect("lets other fibers run between years", () =>
    Effect.gen(function* () {
      let turns = 0
      const other = Effect.forever(Effect.sync(() => void turns++).pipe(Effect.andThen(Effect.yieldNow)))
      yield* Effect.raceFirst(tableOf("Asia/Tokyo", "1940-01-01T00:00:00Z", "1960-01-01T00:00:00Z"), other)
      assert.isAtLeast(turns, 10)
    })
  )

  it.effect("knows the names of the database in their exact case, and nothing else", () =>
    Effect.gen(function* () {
      const timeZones = yield* TimeZones
      for (const name of [
        "UTC",
        "Etc/UTC",
        "GMT",
        "US/Eastern",
        "Asia/Calcutta",
        "Asia/Kolkata",
        "Etc/GMT+5"
      ]) {
        assert.isTrue(timeZones.isKnown(name), name)
      }
      for (const name of [
        "utc",
        "europe/berlin",
        "+01:00",
        "Z",
        "",
        "Factory",
        "Etc/Unknown",
        "SystemV/EST5",
        "PST"
      ]) {
        assert.isFalse(timeZones.isKnown(name), name)
        const error = yield* Effect.flip(timeZones.table({ name, from: 0n, to: 0n }))
        assert.deepStrictEqual([error._tag, error.time_zone], ["UnknownTimeZone", name])
      }
    })
  )

  it.effect("agrees with a scan of the host's wall clock, for any zone and date", () =>
    Effect.gen(function* () {
      const timeZones = yield* TimeZones
      const names = [...TIME_ZONE_NAMES].filter(timeZones.isKnown)
      const date = fc.date({ min: new Date("1970-01-05"), max: new Date("2040-01-01"), noInvalidDate: true })
      const sample = fc.tuple(fc.constantFrom(...names), date)
      const property = fc.asyncProperty(sample, async ([name, near]) => {
        const midnight = Math.floor(near.getTime() / 86_400_000) * 86_400
        const around = {
          name,
          from: BigInt(midnight - 4 * 86_400) * SECOND,
          to: BigInt(midnight + 4 * 86_400) * SECOND
        }
        const zone = prepareZone(await Effect.runPromise(timeZones.table(around)))
        const day = midnight / 86_400
        const first = firstSecondOnHost(name, day)
        assert.strictEqual(firstInstantOf(zone, dateOfDayNumber(day)), BigInt(first) * SECOND)
        assert.deepStrictEqual(localDateOf(zone, BigInt(first) * SECOND), dateOnHost(name)(first))
      })
      yield* Effect.promise(() => fc.assert(property, { numRuns: 60 }))
    })
  )
})

describe("the runtime's data", () => {
  it("have no change of offset before the first year that is probed", () => {
    const firstProbed = Date.UTC(FIRST_YEAR_OF_CHANGES, 0, 1) / 1_000
    const yearOne = Date.parse("0001-01-01T00:00:00Z") / 1_000
    for (const name of TIME_ZONE_NAMES) {
      if (name === "Factory") continue
      const offsetAt = offsetsOf(name)
      assert.strictEqual(offsetAt(yearOne), offsetAt(firstProbed), name)
    }
  })
})

describe("the host's time zone", () => {
  const script = `
    import * as Effect from "effect/Effect"
    import { TimeZones } from "@svc/domain/ports/TimeZones"
    import { layer } from "${new URL("./TimeZonesIntl.ts", import.meta.url).href}"
    const second = 1_000_000_000n
    const program = Effect.flatMap(TimeZones, (timeZones) =>
      timeZones.table({ name: "America/Havana", from: 1_600_000_000n * second, to: 1_700_000_000n * second }))
    console.log(JSON.stringify(await Effect.runPromise(Effect.provide(program, layer))))`

  it("has no effect", async () => {
    const run = async (zone: string) => {
      const cwd = new URL(".", import.meta.url)
      const env = { ...process.env, TZ: zone }
      const args = ["--input-type=module-typescript", "--eval", script]
      return (await promisify(execFile)(process.execPath, args, { cwd, env })).stdout
    }
    const outputs = await Promise.all(["UTC", "Pacific/Apia"].map(run))
    assert.include(outputs[0], "2021-03-14T05:00:00Z")
    assert.strictEqual(outputs[1], outputs[0])
  })
})

/** The date that the wall clock shows, by Intl's own calendar rather than by its offsets. */
const dateOnHost = (name: string) => {
  const format = new Intl.DateTimeFormat("en-US-u-nu-latn", {
    timeZone: name,
    year: "numeric",
    month: "numeric",
    day: "numeric"
  })
  return (second: number): LocalDate => {
    const parts = Object.fromEntries(
      format.formatToParts(second * 1_000).map(({ type, value }) => [type, value])
    )
    return { year: Number(parts.year), month: Number(parts.month), day: Number(parts.day) }
  }
}

/** The first second at which the wall clock shows the date or a later one, found by a scan by minute. */
const firstSecondOnHost = (name: string, day: number): number => {
  const dateAt = dateOnHost(name)
  const reached = (second: number) => dayNumberOf(dateAt(second)) >= day
  let second = day * 86_400 - 27 * HOUR_SECONDS
  while (!reached(second)) second += 60
  second -= 59
  while (!reached(second)) second++
  return second
}
