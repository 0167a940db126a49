import type { KeySet } from "@svc/protocol/evidence/KeySet"
import { Context, Data, type Effect } from "effect"

/** No signing key can be used now, so the evidence is not made. The response is 503. */
export class SignerUnavailable extends Data.TaggedError("SignerUnavailable")<{ readonly cause?: unknown }> {}

/** A signature in the making. What is signed may be long, so it is given piece by piece. */
export interface Signing {
  readonly update: (piece: Uint8Array) => void
  /**
   * The signature of all pieces in their order: 64 bytes (R then S, low-S) of ES256. To be asked for once. Fails if the key
   * has been withdrawn since the signing began.
   */
  readonly signature: Effect.Effect<Uint8Array, SignerUnavailable>
}

/** Signs evidence with ES256 (part 7). */
export class Signer extends Context.Service<
  Signer,
  {
    /** The key that signs now: its `kid`, and how to begin a signature with it. */
    readonly current: Effect.Effect<
      { readonly kid: string; readonly begin: () => Signing },
      SignerUnavailable
    >
    /** Every public key that ever signed or is about to, except withdrawn ones. */
    readonly keySet: Effect.Effect<KeySet, SignerUnavailable>
  }
>()("@svc/domain/ports/Signer") {}
