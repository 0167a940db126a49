import { PasskeyVerifier } from "@svc/domain/ports/PasskeyVerifier"
import { Effect, Layer } from "effect"

/** When the library is loaded if nobody has needed it by then: a missing one shows in the log, not with an end user. */
const LOADED_AFTER = "2 seconds"

/** The module system loads it once, whoever asks and however often. */
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
      Effect.delay(LOADED_AFTER),
      Effect.tapDefect((defect) => Effect.logError("passkeys cannot be verified", defect)),
      Effect.forkScoped
    ),
    PasskeyVerifier.of({
      verifyRegistration: (input) => Effect.flatMap(verifier, (loaded) => loaded.verifyRegistration(input)),
      verifyAssertion: (input) => Effect.flatMap(verifier, (loaded) => loaded.verifyAssertion(input))
    })
  )
)
