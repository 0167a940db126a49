/** The caller's span (W3C Trace Context). */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

/** Version, trace id, parent id and flags; versions after 00 may append fields (W3C Trace Context, section 3.2). */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/u

const INVALID_VERSION = "ff"
const FIRST_VERSION = "00"
const ALL_ZERO = /^0+$/u
const SAMPLED = 1

/** Parses a `traceparent`; a malformed one is ignored (section 3.2.2). */
export const parseTraceparent = (header: string | undefined): TraceContext | undefined => {
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(header ?? "") ?? []
  if (version === undefined || version === INVALID_VERSION) return undefined
  if (version === FIRST_VERSION && more !== undefined) return undefined
  if (ALL_ZERO.test(traceId) || ALL_ZERO.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED }
}
