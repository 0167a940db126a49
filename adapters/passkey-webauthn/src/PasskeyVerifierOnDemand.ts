import type { PasskeyVerifier } from "@svc/domain/ports/PasskeyVerifier"
import { Effect, Layer } from "effect"

/**
 * Verifies passkeys as `PasskeyVerifierWebAuthn` does, but loads it and its library when the layer is built, beside the
 * connections that a start waits for, and not with the import. What serves requests is loaded before the first of them: a broken
 * installation, or one that is replaced under a running server, stops a start and never an approval.
 */
export const layer: Layer.Layer<PasskeyVerifier> = Layer.unwrap(
  Effect.map(
    Effect.promise(() => import("./PasskeyVerifierWebAuthn.ts")),
    (loaded) => loaded.layer
  )
)
