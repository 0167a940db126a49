import { randomFillSync } from "node:crypto"
import { Randomness } from "@svc/domain/ports/Randomness"
import { Layer } from "effect"

/** Bytes generated at a time, since a call costs far more than the few bytes of an identifier. */
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
    // No copy of issued bytes is kept.
    pool.fill(0, used, used + count)
    used += count
    return bytes
  }
}

/** Random bytes from the operating system. */
export const layer: Layer.Layer<Randomness> = Layer.sync(Randomness, () =>
  Randomness.of({ bytes: makePool() })
)
