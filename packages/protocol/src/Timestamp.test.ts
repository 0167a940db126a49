import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import { hasVectors, readVectorJson } from "../test/PublicVectors.ts"
import {
  formatInstant,
  formatNanos,
  NANOS_PER_MILLISECOND,
  NANOS_PER_SECOND,
  normalizeTimestamp,
  parseTimestamp
} from "./Timestamp.ts"
import { Timestamp } from "./TimestampSchema.ts"

const RFC_3339 = "rfc3339-and-formats/date-time.json"

interface Group {
  readonly tests: ReadonlyArray<{
    readonly data: unknown
    readonly valid: boolean
    readonly description: string
  }>
}

/** Date-times of RFC 3339 that a request may not hold: offsets, leap seconds, lower case, old years. */
const isOutsideOfRequests = (text: string): boolean =>
  !/^[2-9]\d{3}-.*T.*Z$/u.test(text) || /:60(?:\.\d+)?Z$/u.test(text) || /\.\d{10,}Z$/u.test(text)

describe.skipIf(!hasVectors(RFC_3339))("timestamps of requests (part 1) on the RFC 3339 vectors", () => {
  const cases = hasVectors(RFC_3339) ? readVectorJson<ReadonlyArray<Group>>(RFC_3339)[0]!.tests : []
  const texts = cases.flatMap(({ data, valid }) => (typeof data === "string" ? [{ data, valid }] : []))

  it.each(texts)("are accepted or refused as required: $data", ({ data, valid }) => {
    assert.strictEqual(parseTimestamp(data) !== undefined, valid && !isOutsideOfRequests(data))
  })

  it("are accepted or refused as required when moved to this century", () => {
    const years = new Set<boolean>()
    for (const { data, valid } of texts) {
      const moved = data.replace(/^19(?=\d\d-)/u, "20")
      const accepted = parseTimestamp(moved) !== undefined
      assert.strictEqual(accepted, valid && !isOutsideOfRequests(moved), moved)
      years.add(accepted)
    }
    assert.strictEqual(years.size, 2)
  })
})

describe("a timestamp of a request (part 1)", () => {
  it.each([
    ["2000-01-01T00:00:00Z", 946_684_800n * NANOS_PER_SECOND],
    ["2026-11-28T09:00:00.000000001Z", 1_795_856_400n * NANOS_PER_SECOND + 1n],
    ["2024-02-29T23:59:59.5Z", 1_709_251_199n * NANOS_PER_SECOND + 500n * NANOS_PER_MILLISECOND],
    ["2000-02-29T00:00:00Z", 951_782_400n * NANOS_PER_SECOND],
    ["9999-12-31T23:59:59.999999999Z", 253_402_300_800n * NANOS_PER_SECOND - 1n]
  ])("is read: %s", (text, instant) => assert.strictEqual(parseTimestamp(text), instant))

  it.each([
    "1999-12-31T23:59:59Z",
    "10000-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-06-31T00:00:00Z",
    "2026-09-31T00:00:00Z",
    "2026-11-31T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-13-10T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-32T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-12-31T23:59:60Z",
    "2026-01-01",
    "2026-01-01T00:00Z",
    "2026-01-01T00:00:00",
    "2026-01-01T00:00:00+00:00",
    "2026-01-01T00:00:00-00:00",
    "2026-01-01T00:00:00+02:00",
    "2026-01-01t00:00:00Z",
    "2026-01-01T00:00:00z",
    "2026-01-01 00:00:00Z",
    "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00:00,5Z",
    "2026-01-01T00:00:00.0000000000Z",
    "2026-01-01T00:00:00Z\n",
    " 2026-01-01T00:00:00Z",
    "+02026-01-01T00:00:00Z",
    "２026-01-01T00:00:00Z",
    ""
  ])("is refused: %j", (text) => assert.isUndefined(parseTimestamp(text)))
})

const FIRST_OF_REQUESTS = 946_684_800n * NANOS_PER_SECOND
const LAST = 253_402_300_800n * NANOS_PER_SECOND - 1n
const FIRST = -62_135_596_800n * NANOS_PER_SECOND

describe("a written timestamp (part 1)", () => {
  it.each([
    [0n, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000000Z"],
    [-1n, "1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999999999Z"],
    [-1_000_000_000n, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.000000000Z"],
    [120_000_000n, "1970-01-01T00:00:00.12Z", "1970-01-01T00:00:00.120000000Z"],
    [FIRST, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000000Z"],
    [LAST, "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"]
  ])("of instant %d is written with and without trailing zeros", (instant, trimmed, nanos) => {
    assert.strictEqual(formatInstant(instant), trimmed)
    assert.strictEqual(formatNanos(instant), nanos)
  })

  it("is refused for an instant whose year has no four digits", () => {
    for (const instant of [FIRST - 1n, LAST + 1n]) {
      assert.throws(() => formatInstant(instant), RangeError)
      assert.throws(() => formatNanos(instant), RangeError)
    }
  })

  it("is read back to the nanosecond", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: FIRST_OF_REQUESTS, max: LAST }), (instant) => {
        assert.strictEqual(parseTimestamp(formatInstant(instant)), instant)
        assert.strictEqual(parseTimestamp(formatNanos(instant)), instant)
        assert.strictEqual(normalizeTimestamp(formatNanos(instant)), formatInstant(instant))
      })
    )
  })

  it("with nine fraction digits sorts as its instant", () => {
    const instant = fc.bigInt({ min: FIRST, max: LAST })
    fc.assert(
      fc.property(instant, instant, (left, right) => {
        assert.strictEqual(left < right, formatNanos(left) < formatNanos(right))
      })
    )
  })
})

/** The rule of part 1 as digits and calendar, without a `Date`: days since 1970 by the civil calendar. */
const daysOf = (year: number, month: number, day: number): number => {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const ofEra = shifted - era * 400
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  return era * 146_097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468
}

describe("a timestamp and its instant (part 1)", () => {
  const parts = fc.record({
    year: fc.integer({ min: 1, max: 9999 }),
    month: fc.integer({ min: 1, max: 12 }),
    day: fc.integer({ min: 1, max: 28 }),
    hour: fc.integer({ min: 0, max: 23 }),
    minute: fc.integer({ min: 0, max: 59 }),
    second: fc.integer({ min: 0, max: 59 }),
    fraction: fc.stringMatching(/^[0-9]{0,9}$/u)
  })
  it("are those of the calendar, whichever digits are given", () => {
    fc.assert(
      fc.property(parts, ({ day, fraction, hour, minute, month, second, year }) => {
        const two = (part: number) => `${part}`.padStart(2, "0")
        const toSecond = `${`${year}`.padStart(4, "0")}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}`
        const seconds = BigInt(daysOf(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
        const nanos = fraction.padEnd(9, "0")
        const instant = seconds * NANOS_PER_SECOND + BigInt(nanos)
        assert.strictEqual(formatNanos(instant), `${toSecond}.${nanos}Z`)
        const given = fraction === "" ? `${toSecond}Z` : `${toSecond}.${fraction}Z`
        assert.strictEqual(parseTimestamp(given), year < 2000 ? undefined : instant)
      })
    )
  })

  it("differ within a second by the fraction alone, in whichever order they are written", () => {
    const instants = [0n, 1n, -1n, NANOS_PER_SECOND - 1n, NANOS_PER_SECOND, 999n, -NANOS_PER_SECOND]
    assert.deepStrictEqual(instants.map(formatNanos), [
      "1970-01-01T00:00:00.000000000Z",
      "1970-01-01T00:00:00.000000001Z",
      "1969-12-31T23:59:59.999999999Z",
      "1970-01-01T00:00:00.999999999Z",
      "1970-01-01T00:00:01.000000000Z",
      "1970-01-01T00:00:00.000000999Z",
      "1969-12-31T23:59:59.000000000Z"
    ])
  })

  it("says the same however often it is read, with whatever is read between", () => {
    const texts = [
      "2026-11-28T09:00:00Z",
      "2026-11-28T09:00:00.0Z",
      "2026-11-28T09:00:01Z",
      "2026-11-31T09:00:00Z"
    ]
    const second = parseTimestamp(texts[0]!)!
    const expected = [second, second, second + NANOS_PER_SECOND, undefined]
    fc.assert(
      fc.property(fc.array(fc.nat(texts.length - 1)), (reads) => {
        for (const read of reads) assert.strictEqual(parseTimestamp(texts[read]!), expected[read])
      })
    )
  })

  it("is refused with any character changed to one that has no place there", () => {
    const text = "2026-11-28T09:00:00.123456789Z"
    fc.assert(
      fc.property(
        fc.nat(text.length - 1),
        fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
        (at, other) => {
          fc.pre(!/^\d$/u.test(other) && other !== text[at])
          assert.isUndefined(parseTimestamp(text.slice(0, at) + other + text.slice(at + 1)))
        }
      )
    )
  })
})

describe("a stored timestamp (part 1)", () => {
  it.each([
    ["2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z"],
    ["2026-12-01T00:00:00.0Z", "2026-12-01T00:00:00Z"],
    ["2026-12-01T00:00:10.000000000Z", "2026-12-01T00:00:10Z"],
    ["2026-12-01T00:00:00.120Z", "2026-12-01T00:00:00.12Z"],
    ["2026-12-01T00:00:00.001Z", "2026-12-01T00:00:00.001Z"],
    ["2026-12-01T00:00:00.100000001Z", "2026-12-01T00:00:00.100000001Z"]
  ])("of %s is %s", (given, stored) => assert.strictEqual(normalizeTimestamp(given), stored))
})

describe("the schema of a timestamp (part 1)", () => {
  it("decodes to the text as given", () => {
    const decode = Schema.decodeUnknownSync(Timestamp)
    assert.strictEqual(decode("2026-12-01T00:00:00.50Z"), "2026-12-01T00:00:00.50Z")
    assert.throws(() => decode("2026-02-30T00:00:00Z"))
    assert.throws(() => decode(0))
  })
})
