/** The caller's span, as its `traceparent` names it. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

/** Version, trace, parent and flags; a version after 00 may go on after them (W3C Trace Context, section 3.2). */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/u

const NO_VERSION = "ff"
const FIRST_VERSION = "00"
const ALL_ZERO = /^0+$/u
const SAMPLED = 1

/** Reads a `traceparent`. One that is not in its form is as one that is not there (section 3.2.2). */
export const parseTraceparent = (header: string | undefined): TraceContext | undefined => {
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(header ?? "") ?? []
  if (version === undefined || version === NO_VERSION) return undefined
  if (version === FIRST_VERSION && more !== undefined) return undefined
  if (ALL_ZERO.test(traceId) || ALL_ZERO.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED }
}
