import { randomFillSync } from "node:crypto"
import { Randomness } from "@svc/domain/ports/Randomness"
import { Layer } from "effect"

/** Bytes of the operating system's generator. */
export const layer: Layer.Layer<Randomness> = Layer.succeed(
  Randomness,
  Randomness.of({ bytes: (count) => randomFillSync(new Uint8Array(count)) })
)
