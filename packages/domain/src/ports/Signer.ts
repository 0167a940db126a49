import type { KeySet } from "@svc/protocol/evidence/KeySet"
import { Context, Data, type Effect } from "effect"

/** No signing key can be used now, so the evidence is not made. The response is 503. */
export class SignerUnavailable extends Data.TaggedError("SignerUnavailable")<{ readonly cause?: unknown }> {}

/** Signs evidence with ES256 (part 7). */
export class Signer extends Context.Service<
  Signer,
  {
    /** The key that signs now: its `kid`, and signatures of 64 bytes (R then S, low-S) over SHA-256 of the data. */
    readonly current: Effect.Effect<
      {
        readonly kid: string
        readonly sign: (data: Uint8Array) => Effect.Effect<Uint8Array, SignerUnavailable>
      },
      SignerUnavailable
    >
    /** Every public key that ever signed or is about to, except withdrawn ones. */
    readonly keySet: Effect.Effect<KeySet, SignerUnavailable>
  }
>()("@svc/domain/ports/Signer") {}
