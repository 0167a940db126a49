import { assert, describe, it } from "@effect/vitest"
import { makeSampler, type SamplerName } from "./TraceSampler.ts"

const LOW = "0".repeat(32)
const HIGH = "f".repeat(32)

/** Whether a low and a high trace id are sampled: without a caller, with one that exports its span, with one that does not. */
const decisionsOf = (name: SamplerName, ratio: number): ReadonlyArray<boolean> =>
  [undefined, true, false].flatMap((parentSampled) =>
    [LOW, HIGH].map((traceId) => makeSampler(name, ratio)({ traceId, parentSampled }))
  )

const [no, yes] = [false, true]

describe("samplers (OpenTelemetry, general SDK configuration)", () => {
  it.each([
    ["always_on", 1, [yes, yes, yes, yes, yes, yes]],
    ["always_off", 1, [no, no, no, no, no, no]],
    ["traceidratio", 0.5, [no, yes, no, yes, no, yes]],
    ["traceidratio", 0, [no, no, no, no, no, no]],
    ["traceidratio", 1, [yes, yes, yes, yes, yes, yes]],
    ["parentbased_always_on", 1, [yes, yes, yes, yes, no, no]],
    ["parentbased_always_off", 1, [no, no, yes, yes, no, no]],
    ["parentbased_traceidratio", 0.5, [no, yes, yes, yes, no, no]]
  ] as const)("%s with %d", (name, ratio, expected) => {
    assert.deepStrictEqual(decisionsOf(name, ratio), [...expected])
  })

  it("take about the part that they are asked for", () => {
    const sampler = makeSampler("traceidratio", 0.25)
    const ids = Array.from({ length: 256 }, (_, at) => at.toString(16).padStart(2, "0"))
    const taken = ids.filter((byte) =>
      sampler({ traceId: `${LOW.slice(0, 18)}${byte}${LOW.slice(20)}`, parentSampled: undefined })
    )
    assert.strictEqual(taken.length, 64)
  })
})
