import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"
import type { SealContext } from "./SecretSealer.ts"

/** A secret that the store keeps for longer than a master key is used, as it is sealed. */
export interface SealedSecret {
  readonly context: SealContext
  readonly sealed: string
}

/**
 * The sealed secrets of a store, for a change of the master key: signing keys and the secrets of webhook endpoints. The tokens of
 * approval sessions are not among them, since a session ends before the previous master key is put away.
 */
export class SealedSecrets extends Context.Service<
  SealedSecrets,
  {
    /** The private halves of signing keys that still have one. */
    readonly signingKeys: Effect.Effect<ReadonlyArray<SealedSecret>, StoreUnavailable>
    /** The secrets of the webhook endpoints after a given one, in the order of organization and row, at most so many. */
    readonly webhookSecrets: (
      after: Pick<SealContext, "organization" | "row"> | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<SealedSecret>, StoreUnavailable>
    /** Puts another sealed text in place of this one. False, and nothing changed, if it is no longer sealed so. */
    readonly replace: (secret: SealedSecret, sealed: string) => Effect.Effect<boolean, StoreUnavailable>
  }
>()("@svc/domain/ports/SealedSecrets") {}
