import { NANOS_PER_MILLISECOND, type Nanos } from "@svc/protocol/Timestamp"

/** Attempts of a delivery; after the last failed one it is exhausted (part 8). */
export const MAX_ATTEMPTS = 9
/** Delay before the first retry, in milliseconds, without jitter. */
const FIRST_DELAY_MS = 30_000
/** Factor from each delay to the next. */
const GROWTH = 2.88
/** Largest deviation of a delay in either direction, as a fraction of it. */
const JITTER = 0.2

/** Delay before retry 1 to 8, in milliseconds, without jitter. */
const delayWithoutJitter = (retry: number): number => FIRST_DELAY_MS * GROWTH ** (retry - 1)

/**
 * How long to wait before the given retry (1 to 8) of a delivery, in nanoseconds: 30 s x 2.88^(retry - 1), plus or minus
 * up to 20 percent, so that deliveries that failed together do not come again together (part 8). `uniform` is drawn evenly
 * from 0 (inclusive) to 1 (exclusive).
 */
export const retryDelay = (retry: number, uniform: number): Nanos => {
  if (!Number.isInteger(retry) || retry < 1 || retry >= MAX_ATTEMPTS) {
    throw new RangeError(`a delivery has retries 1 to ${MAX_ATTEMPTS - 1}`)
  }
  const share = 1 + JITTER * (2 * uniform - 1)
  return BigInt(Math.round(delayWithoutJitter(retry) * share)) * NANOS_PER_MILLISECOND
}

/** Bytes of randomness of one `uniformFrom`. */
export const UNIFORM_BYTES = 6

/** A number drawn evenly from 0 (inclusive) to 1 (exclusive), from `UNIFORM_BYTES` random bytes. */
export const uniformFrom = (bytes: Uint8Array): number =>
  bytes.reduce((sum, byte) => sum * 256 + byte, 0) / 256 ** bytes.length
