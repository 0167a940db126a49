import type { JsonWebKeyEs256 } from "@svc/protocol/evidence/KeySet"
import type { Instant, Nanos } from "@svc/protocol/Timestamp"
import { Context, Data, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** A new signing key: its public half, and its private half sealed for the row of its `kid`. */
export interface NewSigningKey {
  readonly publicJwk: JsonWebKeyEs256
  /** Sealed with the deployment's master key. */
  readonly sealed: string
}

/** A signing key as it is kept. */
export interface SigningKeyRecord {
  readonly publicJwk: JsonWebKeyEs256
  /** Absent once the key can no longer sign, so that it cannot be stolen. */
  readonly sealed: string | undefined
  readonly createdAt: Instant
  /** When it starts to sign, until a later key does. Absent: it was withdrawn before that. */
  readonly signsFrom: Instant | undefined
  /** When it was withdrawn as compromised. It is not published and never signs again. */
  readonly withdrawnAt?: Instant
}

/** The signing keys of a deployment, oldest first, and the store's clock. */
export interface SigningKeyList {
  readonly now: Instant
  readonly keys: ReadonlyArray<SigningKeyRecord>
}

/** Whether a key is out of the key set for good. A key that never signed need not be published. */
export const isWithdrawn = ({ signsFrom, withdrawnAt }: SigningKeyRecord): boolean =>
  signsFrom === undefined || withdrawnAt !== undefined

/** The keys that have started to sign by an instant and are not withdrawn, the latest first. The first of them signs. */
export const startedSigningKeys = (
  keys: ReadonlyArray<SigningKeyRecord>,
  now: Instant
): ReadonlyArray<SigningKeyRecord> =>
  keys
    .flatMap((key) =>
      isWithdrawn(key) || key.signsFrom === undefined || key.signsFrom > now
        ? []
        : [{ key, signsFrom: key.signsFrom }]
    )
    .sort((one, other) => (one.signsFrom < other.signsFrom ? 1 : -1))
    .map(({ key }) => key)

/** The key that signs at an instant. */
export const signingKeyAt = (
  keys: ReadonlyArray<SigningKeyRecord>,
  now: Instant
): SigningKeyRecord | undefined => startedSigningKeys(keys, now)[0]

/** A published key has not started to sign yet. Another can be added once it has. */
export class RotationPending extends Data.TaggedError("RotationPending")<{
  readonly kid: string
  readonly signsFrom: Instant
}> {}

/** No signing key has that `kid`. */
export class SigningKeyUnknown extends Data.TaggedError("SigningKeyUnknown")<Record<never, never>> {}

/** The result of a withdrawal. */
export interface Withdrawal {
  /** By the store's clock. If the key was withdrawn before, the time of that withdrawal. */
  readonly withdrawnAt: Instant
  /** The key that signs now. */
  readonly signing: string
}

/** The result of a rotation. */
export interface Rotation {
  /** Whether it made the first key of the deployment, which signs at once because no key set is cached yet. */
  readonly isFirst: boolean
  readonly signsFrom: Instant
}

/** Where the signing keys of a deployment are kept. The store's clock says which of them signs. */
export class SigningKeyRecords extends Context.Service<
  SigningKeyRecords,
  {
    readonly list: Effect.Effect<SigningKeyList, StoreUnavailable>
    /** Records the first key, which signs from the beginning, unless there is one. Of concurrent calls one wins. */
    readonly addFirst: (key: NewSigningKey) => Effect.Effect<void, StoreUnavailable>
    /**
     * Publishes a key that signs `delay` nanoseconds from now. `"now"` is for a compromise: the key signs at once, and a
     * key that has not started to sign is withdrawn, because it was stored in the same place. Concurrent rotations run one
     * after another.
     */
    readonly rotate: (
      key: NewSigningKey,
      when: { readonly delay: Nanos } | "now"
    ) => Effect.Effect<Rotation, RotationPending | StoreUnavailable>
    /**
     * Removes a compromised key from the key set and deletes its private half, at once and for good. If it is the current
     * key, `successor` signs in its place; otherwise `successor` is not used.
     */
    readonly withdraw: (
      kid: string,
      successor: NewSigningKey
    ) => Effect.Effect<Withdrawal, SigningKeyUnknown | StoreUnavailable>
    /**
     * Deletes the private half of every key that started to sign before the given one; of none if the given one has not
     * started. Call it only after opening the given key: the deleted halves are gone for every process.
     */
    readonly forgetBefore: (kid: string) => Effect.Effect<void, StoreUnavailable>
  }
>()("@svc/domain/ports/SigningKeyRecords") {}
