import type { KeyManagementFault, ManagedKeys } from "@svc/domain/ports/KeyManagement"
import { publicKeyToJwk } from "@svc/protocol/evidence/KeySet"
import type { ExternalSigner, PublicP256Jwk } from "@svc/signer/ExternalSigner"
import { Effect, Redacted } from "effect"

/** Keys in a key management service, for hosts without Effect: faults reject with an `Error` that says them. */

const runOrThrow = <A>(call: Effect.Effect<A, KeyManagementFault>, signal?: AbortSignal): Promise<A> =>
  Effect.runPromise(
    Effect.mapError(call, (fault) => new Error(fault.detail, { cause: fault })),
    signal === undefined ? {} : { signal }
  )

/** A signer whose key stays in the service. */
export const managedSigner = async (
  kms: ManagedKeys,
  given: string,
  published: ReadonlyArray<PublicP256Jwk> = []
): Promise<ExternalSigner> => {
  const { name, publicKey } = await runOrThrow(kms.publicKey(given))
  const { crv, kty, x, y } = publicKeyToJwk(publicKey)
  return {
    publicJwk: { kty, crv, x, y },
    sign: ({ digest, signal }) => runOrThrow(kms.sign(name, digest), signal),
    published
  }
}

/** A master key that the service decrypts. */
export const managedMasterKey = async (kms: ManagedKeys, encrypted: string): Promise<Uint8Array> =>
  Redacted.value(await runOrThrow(kms.openMasterKey(encrypted)))
