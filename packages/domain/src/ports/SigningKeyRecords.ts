import type { JsonWebKeyEs256 } from "@svc/protocol/KeySet"
import type { Instant, Nanos } from "@svc/protocol/Timestamp"
import { Context, Data, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** A new signing key: its public half, and its private half sealed for the row of its `kid`. */
export interface NewSigningKey {
  readonly publicJwk: JsonWebKeyEs256
  /** Whoever has the master key can open it. */
  readonly sealed: string
}

/** A signing key as it is kept. */
export interface SigningKeyRecord {
  readonly publicJwk: JsonWebKeyEs256
  /** Absent once the key cannot sign any more: nothing would be lost with it but an attacker's chance. */
  readonly sealed: string | undefined
  readonly createdAt: Instant
  /** From then on it signs, until a later one does. Absent: it was withdrawn before it ever did. */
  readonly signsFrom: Instant | undefined
  /** When it was withdrawn as compromised. It is not published and never signs again. */
  readonly withdrawnAt?: Instant
}

/** The signing keys of a deployment, oldest first, and the store's clock. */
export interface SigningKeyList {
  readonly now: Instant
  readonly keys: ReadonlyArray<SigningKeyRecord>
}

/** Whether a key is out of the key set for good. What no key ever signed with needs no key to verify with either. */
export const isWithdrawn = ({ signsFrom, withdrawnAt }: SigningKeyRecord): boolean =>
  signsFrom === undefined || withdrawnAt !== undefined

/** The key that signs at an instant: the one that began last. */
export const signingKeyAt = (
  keys: ReadonlyArray<SigningKeyRecord>,
  now: Instant
): SigningKeyRecord | undefined =>
  keys.reduce<SigningKeyRecord | undefined>((latest, key) => {
    if (isWithdrawn(key) || key.signsFrom === undefined || key.signsFrom > now) return latest
    return latest?.signsFrom === undefined || key.signsFrom > latest.signsFrom ? key : latest
  }, undefined)

/** A key was published that is yet to sign; another may follow once it does. */
export class RotationPending extends Data.TaggedError("RotationPending")<{
  readonly kid: string
  readonly signsFrom: Instant
}> {}

/** No signing key has that `kid`. */
export class SigningKeyUnknown extends Data.TaggedError("SigningKeyUnknown")<Record<never, never>> {}

/** What a withdrawal came to. */
export interface Withdrawal {
  /** By the store's clock; of an earlier withdrawal, if there was one. */
  readonly withdrawnAt: Instant
  /** The key that signs now. */
  readonly signing: string
}

/** What a rotation came to. */
export interface Rotation {
  /** Whether it made the first key of the deployment, which signs at once since nobody holds another. */
  readonly isFirst: boolean
  readonly signsFrom: Instant
}

/** Where the signing keys of a deployment are kept. The store's clock says which of them signs. */
export class SigningKeyRecords extends Context.Service<
  SigningKeyRecords,
  {
    readonly list: Effect.Effect<SigningKeyList, StoreUnavailable>
    /** Records the key that signs from the beginning, unless there is one: of several that start at once, one wins. */
    readonly addFirst: (key: NewSigningKey) => Effect.Effect<void, StoreUnavailable>
    /**
     * Publishes a key that signs `delay` nanoseconds from now. `"now"` is for a compromise: the key signs at once, and
     * one that is yet to sign is withdrawn, since it was kept in the same place. Rotations at the same time take turns.
     */
    readonly rotate: (
      key: NewSigningKey,
      when: { readonly delay: Nanos } | "now"
    ) => Effect.Effect<Rotation, RotationPending | StoreUnavailable>
    /**
     * Takes a compromised key out of the key set and its private half away, at once and for good. In the place of the
     * key that signs now, `successor` signs from then on; otherwise it is not used.
     */
    readonly withdraw: (
      kid: string,
      successor: NewSigningKey
    ) => Effect.Effect<Withdrawal, SigningKeyUnknown | StoreUnavailable>
    /**
     * Removes the private half of every key that the given one has followed; of none while it is yet to sign. For whoever
     * can open the given one: what is removed is gone for everybody.
     */
    readonly forgetBefore: (kid: string) => Effect.Effect<void, StoreUnavailable>
  }
>()("@svc/domain/ports/SigningKeyRecords") {}
