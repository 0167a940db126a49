import type { AwsKmsClientOptions } from "@svc/kms/ClientOptions"
import { awsKmsKeys } from "@svc/kms/KeyManagementOnDemand"
import type { ExternalSigner, PublicP256Jwk } from "@svc/signer/ExternalSigner"
import { managedMasterKey, managedSigner } from "./ManagedSigner.ts"

export type { AwsCredentials, AwsKmsClientOptions } from "@svc/kms/ClientOptions"

/** A signing key in AWS KMS. */
export interface AwsKmsSignerOptions extends AwsKmsClientOptions {
  /** The ARN, an id or an alias of a key that is ECC_NIST_P256 for SIGN_VERIFY. */
  readonly key: string
  /** Public keys that stay in the key set beside it, as in `ExternalSigner`. */
  readonly published?: ReadonlyArray<PublicP256Jwk>
}

/**
 * The `signer` of `createService` on a key in AWS KMS, which needs `@aws-sdk/client-kms` installed. Rejects with an `Error` if the
 * key is of another kind, may not be read (`kms:GetPublicKey`), or AWS does not answer.
 *
 * @example
 * ```ts
 * import { awsKmsSigner } from "svc/aws-kms"
 *
 * const signerOf = (arn: string) => awsKmsSigner({ key: arn })
 * ```
 */
export const awsKmsSigner = ({ key, published, ...client }: AwsKmsSignerOptions): Promise<ExternalSigner> =>
  managedSigner(awsKmsKeys(client), `aws-kms:${key}`, published)

/**
 * The `masterKey` of `createService` from what `svc master-key create --kms aws-kms:...` printed, which AWS KMS decrypts
 * (`kms:Decrypt`). Rejects with an `Error` if it refuses or does not answer.
 *
 * @example
 * ```ts
 * import { awsKmsMasterKey } from "svc/aws-kms"
 *
 * const masterKeyOf = (encrypted: string) => awsKmsMasterKey(encrypted)
 * ```
 */
export const awsKmsMasterKey = (encrypted: string, client: AwsKmsClientOptions = {}): Promise<Uint8Array> =>
  managedMasterKey(awsKmsKeys(client), encrypted)
