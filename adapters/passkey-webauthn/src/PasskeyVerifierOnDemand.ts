import { PasskeyVerifier } from "@svc/domain/ports/PasskeyVerifier"
import { Effect, Layer } from "effect"

/** The library is loaded after this time even if unused, so that a broken installation shows in the log, not to an end user. */
const LOAD_DELAY = "2 seconds"

/** The module system caches it, so it is loaded once. */
const verifier = Effect.flatMap(
  Effect.promise(() => import("./PasskeyVerifierWebAuthn.ts")),
  ({ layer }) => Effect.provide(PasskeyVerifier, layer)
)

/**
 * Verifies passkeys as `PasskeyVerifierWebAuthn` does, but loads it and its library with the first passkey, or shortly
 * after the start, which does not wait for it.
 */
export const layer: Layer.Layer<PasskeyVerifier> = Layer.effect(
  PasskeyVerifier,
  Effect.as(
    verifier.pipe(
      Effect.delay(LOAD_DELAY),
      Effect.tapDefect((defect) => Effect.logError("passkeys cannot be verified", defect)),
      Effect.forkScoped
    ),
    PasskeyVerifier.of({
      verifyRegistration: (input) => Effect.flatMap(verifier, (loaded) => loaded.verifyRegistration(input)),
      verifyAssertion: (input) => Effect.flatMap(verifier, (loaded) => loaded.verifyAssertion(input))
    })
  )
)
