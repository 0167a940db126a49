import { KeyManagement, type ManagedKeyName, type ManagedKeys } from "@svc/domain/ports/KeyManagement"
import type { NewSigningKey } from "@svc/domain/ports/SigningKeyRecords"
import { SigningKeyRecords } from "@svc/domain/ports/SigningKeyRecords"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import * as StoredSigner from "@svc/signer/StoredSigner"
import { makeManagedSigningKey } from "@svc/signer/StoredSigningKey"
import { Effect, Layer, Redacted } from "effect"

const sealer = Layer.orDie(
  SecretSealerNodeCrypto.layer({ current: Redacted.make(new Uint8Array(32).fill(7)) })
)

/** What `svc signing-key rotate --kms` records. */
export const recordedKey = (name: ManagedKeyName, kms: ManagedKeys) =>
  makeManagedSigningKey(name).pipe(Effect.provide(sealer), Effect.provideService(KeyManagement, kms))

/** A signer on a store that keeps these keys, the first of which signs. */
export const signerWith = (kms: ManagedKeys, [first, ...others]: ReadonlyArray<NewSigningKey>) =>
  Layer.fresh(StoredSigner.layer).pipe(
    Layer.provide([
      sealer,
      Layer.succeed(KeyManagement, kms),
      Layer.succeed(StoreHealth, StoreHealth.of({ faults: Effect.succeed([]) })),
      Layer.succeed(
        SigningKeyRecords,
        SigningKeyRecords.of({
          list: Effect.succeed({
            now: 10n,
            keys: [
              { ...first!, createdAt: 0n, signsFrom: 0n },
              ...others.map((key) => ({ ...key, createdAt: 1n, signsFrom: 10_000_000_000_000n }))
            ]
          }),
          addFirst: () => Effect.die("not used"),
          rotate: () => Effect.die("not used"),
          withdraw: () => Effect.die("not used"),
          forgetBefore: () => Effect.die("not used")
        })
      )
    ])
  )
