import { Context, Data, Effect, type Redacted } from "effect"

/**
 * The name of a key in a key management service: the service, a colon, and the key's own name there, such as
 * `aws-kms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab`.
 */
export type ManagedKeyName = string

/** The service does not answer, is throttled, or has the key disabled: the same call may succeed later. */
export class KeyManagementUnavailable extends Data.TaggedError("KeyManagementUnavailable")<{
  /** What happened, in words. It names the key, and quotes neither secrets nor credentials. */
  readonly detail: string
}> {}

/** The service refuses, the key is of another kind, or there is no such service: somebody has to change something. */
export class KeyManagementRefused extends Data.TaggedError("KeyManagementRefused")<{
  /** As of `KeyManagementUnavailable`. */
  readonly detail: string
}> {}

export type KeyManagementFault = KeyManagementUnavailable | KeyManagementRefused

/** The public half of a signing key. */
export interface ManagedPublicKey {
  /** The name under which the key signs for good: an alias may come to name another key, this does not. */
  readonly name: ManagedKeyName
  /** The point, uncompressed. */
  readonly publicKey: Uint8Array
}

/** What a key management service (KMS) does with keys that never leave it. */
export interface ManagedKeys {
  /** The public half of a key that signs with ES256; refused if it is of another kind. */
  readonly publicKey: (name: ManagedKeyName) => Effect.Effect<ManagedPublicKey, KeyManagementFault>
  /** What the service gives as the ES256 signature of a SHA-256 digest: 64 bytes, r then s. Nothing has verified it. */
  readonly sign: (name: ManagedKeyName, digest: Uint8Array) => Effect.Effect<Uint8Array, KeyManagementFault>
  /** A new master key of 32 bytes, encrypted under a key of the service: a text that `openMasterKey` opens. */
  readonly newMasterKey: (name: ManagedKeyName) => Effect.Effect<string, KeyManagementFault>
  /** Has the service decrypt a master key that `newMasterKey` made. */
  readonly openMasterKey: (
    encrypted: string
  ) => Effect.Effect<Redacted.Redacted<Uint8Array>, KeyManagementFault>
}

const refuse = () =>
  Effect.fail(new KeyManagementRefused({ detail: "no key management service is set up here" }))

const NONE: ManagedKeys = { publicKey: refuse, sign: refuse, newMasterKey: refuse, openMasterKey: refuse }

/** The key management services that this process can use: by default none. */
export class KeyManagement extends Context.Reference<ManagedKeys>("@svc/domain/ports/KeyManagement", {
  defaultValue: () => NONE
}) {}
