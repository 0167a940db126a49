import { assert, describe, it } from "@effect/vitest"
import { parseTraceparent } from "./TraceContext.ts"

// Of the examples of W3C Trace Context.
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
const SPAN = "00f067aa0ba902b7"

describe("parseTraceparent", () => {
  it("reads trace and span", () => {
    const expected = { traceId: TRACE, spanId: SPAN }
    assert.deepStrictEqual(parseTraceparent(`00-${TRACE}-${SPAN}-01`), { ...expected, sampled: true })
    assert.deepStrictEqual(parseTraceparent(`00-${TRACE}-${SPAN}-02`), { ...expected, sampled: false })
  })

  it("accepts further fields of later versions", () => {
    assert.strictEqual(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-comes`)?.traceId, TRACE)
    assert.strictEqual(parseTraceparent(`cc-${TRACE}-${SPAN}-01`)?.traceId, TRACE)
  })

  for (const header of [
    undefined,
    "",
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01-`,
    `cc-${TRACE}-${SPAN}-01.more`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}0-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    ` 00-${TRACE}-${SPAN}-01`
  ]) {
    it(`ignores ${JSON.stringify(header)}`, () => assert.isUndefined(parseTraceparent(header)))
  }
})
