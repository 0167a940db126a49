import { randomFillSync } from "node:crypto"
import { Randomness } from "@svc/domain/ports/Randomness"
import { Layer } from "effect"

/** Bytes drawn at a time: a call to the generator costs far more than the few bytes that an identifier needs. */
const POOL_BYTES = 4096

const makePool = (): ((count: number) => Uint8Array) => {
  const pool = new Uint8Array(POOL_BYTES)
  let used = POOL_BYTES
  return (count) => {
    if (count > POOL_BYTES) return randomFillSync(new Uint8Array(count))
    if (used + count > POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    const bytes = pool.slice(used, used + count)
    // What was given out is kept nowhere else.
    pool.fill(0, used, used + count)
    used += count
    return bytes
  }
}

/** Bytes of the operating system's generator. */
export const layer: Layer.Layer<Randomness> = Layer.sync(Randomness, () =>
  Randomness.of({ bytes: makePool() })
)
