/** What is known of a trace when it is decided whether its spans are exported. */
export interface TraceStart {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** Whether the caller exports the span that this one is part of; absent without such a caller. */
  readonly parentSampled: boolean | undefined
}

/** Decides whether the spans of a trace are exported. */
export type TraceSampler = (start: TraceStart) => boolean

/** The values of `OTEL_TRACES_SAMPLER` that are supported. */
export const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio"
] as const

export type SamplerName = (typeof SAMPLERS)[number]

const HEX = 16
/** The digits of a trace id that are random in every version of W3C Trace Context, less one that a double cannot hold. */
const RANDOM_DIGITS = { from: -14, to: -1 } as const
const RANDOM_RANGE = HEX ** (RANDOM_DIGITS.to - RANDOM_DIGITS.from)

/** Samples this part of all traces, and the same ones as every other service with that ratio. */
const ratioSampler =
  (ratio: number): TraceSampler =>
  ({ traceId }) =>
    Number.parseInt(traceId.slice(RANDOM_DIGITS.from, RANDOM_DIGITS.to), HEX) >= (1 - ratio) * RANDOM_RANGE

const rootSampler = (name: string, ratio: number): TraceSampler => {
  if (name === "traceidratio") return ratioSampler(ratio)
  return () => name === "always_on"
}

const PARENT_BASED = "parentbased_"

/** The sampler of that name. A parent-based one follows the caller, and decides by itself where there is none. */
export const makeSampler = (name: SamplerName, ratio: number): TraceSampler => {
  if (!name.startsWith(PARENT_BASED)) return rootSampler(name, ratio)
  const root = rootSampler(name.slice(PARENT_BASED.length), ratio)
  return (start) => start.parentSampled ?? root(start)
}
