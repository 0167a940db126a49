import type { AzureTokenCredential } from "@svc/kms/ClientOptions"
import { azureKeyVaultKeys } from "@svc/kms/KeyManagementOnDemand"
import type { ExternalSigner, PublicP256Jwk } from "@svc/signer/ExternalSigner"
import { managedMasterKey, managedSigner } from "./ManagedSigner.ts"

export type { AzureTokenCredential } from "@svc/kms/ClientOptions"

/** A signing key in Azure Key Vault. */
export interface AzureKeyVaultSignerOptions {
  /** The identifier of a key that is EC or EC-HSM on P-256; without its version, the version that is the latest now. */
  readonly key: string
  readonly credential: AzureTokenCredential
  /** Public keys that stay in the key set beside it, as in `ExternalSigner`. */
  readonly published?: ReadonlyArray<PublicP256Jwk>
}

/**
 * The `signer` of `createService` on a key in Azure Key Vault, which needs `@azure/keyvault-keys` installed. Rejects with an
 * `Error` if the key is of another kind, may not be read (get), or the vault does not answer.
 *
 * @example
 * ```ts
 * import { type AzureTokenCredential, azureKeyVaultSigner } from "svc/azure-key-vault"
 *
 * const signerOf = (key: string, credential: AzureTokenCredential) => azureKeyVaultSigner({ key, credential })
 * ```
 */
export const azureKeyVaultSigner = ({
  credential,
  key,
  published
}: AzureKeyVaultSignerOptions): Promise<ExternalSigner> =>
  managedSigner(azureKeyVaultKeys(credential), `azure-key-vault:${key}`, published)

/**
 * The `masterKey` of `createService` from what `svc master-key create --kms azure-key-vault:...` printed, which the vault
 * decrypts (unwrap key and get). Rejects with an `Error` if it refuses or does not answer.
 *
 * @example
 * ```ts
 * import { type AzureTokenCredential, azureKeyVaultMasterKey } from "svc/azure-key-vault"
 *
 * const masterKeyOf = (encrypted: string, credential: AzureTokenCredential) =>
 *   azureKeyVaultMasterKey(encrypted, credential)
 * ```
 */
export const azureKeyVaultMasterKey = (
  encrypted: string,
  credential: AzureTokenCredential
): Promise<Uint8Array> => managedMasterKey(azureKeyVaultKeys(credential), encrypted)
