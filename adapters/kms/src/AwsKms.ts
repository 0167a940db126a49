import { createPublicKey } from "node:crypto"
import {
  DecryptCommand,
  GenerateDataKeyWithoutPlaintextCommand,
  GetPublicKeyCommand,
  KMSClient,
  type KMSClientConfig,
  SignCommand
} from "@aws-sdk/client-kms"
import { p256 } from "@noble/curves/nist.js"
import { type KeyManagementFault, KeyManagementUnavailable } from "@svc/domain/ports/KeyManagement"
import { MASTER_KEY_BYTES } from "@svc/domain/ports/SecretSealer"
import { P256_PUBLIC_KEY_BYTES } from "@svc/protocol/crypto/P256"
import { Effect } from "effect"
import { ATTEMPT_TIMEOUT_MILLIS, calling, type KeyService, MAX_ATTEMPTS, refused } from "./KeyService.ts"

/** Bound to every master key, and named in the log of AWS CloudTrail; key policies can require it. */
const ENCRYPTION_CONTEXT = { "svc:purpose": "master-key" }

/** Errors that stay until somebody changes a setting, a permission or the key. */
const REFUSALS: Readonly<Record<string, string>> = {
  AccessDeniedException: "may not be used with the credentials of this process for",
  NotFoundException: "does not exist for",
  InvalidArnException: "is no name of a key for",
  InvalidKeyUsageException: "is a key for another usage than",
  UnsupportedOperationException: "is a key of a kind without",
  IncorrectKeyException: "is not the key that encrypted, for",
  InvalidCiphertextException: "did not encrypt what is given to",
  ValidationException: "is not accepted by AWS KMS for",
  CredentialsProviderError: "needs AWS credentials, and this process has none, for",
  UnrecognizedClientException: "was asked with credentials that AWS does not know, for",
  InvalidSignatureException: "was asked with credentials that AWS does not accept, for",
  ConfigError: "lacks a region (AWS_REGION, or the ARN of the key) for"
}

/** Errors that may pass, in words. */
const PASSING: Readonly<Record<string, string>> = {
  DisabledException: "is disabled",
  KMSInvalidStateException: "is disabled or about to be deleted",
  ThrottlingException: "is throttled by AWS KMS",
  LimitExceededException: "is throttled by AWS KMS"
}

const nameOf = (error: unknown): string => {
  const { message, name } = error instanceof Error ? error : { message: "", name: "" }
  return message === "Region is missing" ? "ConfigError" : name
}

const faultOf =
  (key: string, operation: string) =>
  (error: unknown): KeyManagementFault => {
    const name = nameOf(error)
    if (Object.hasOwn(REFUSALS, name)) return refused(key, `${REFUSALS[name]} ${operation} (${name})`)
    const words = Object.hasOwn(PASSING, name) ? PASSING[name] : `did not answer ${operation}`
    return new KeyManagementUnavailable({ detail: `${key} ${words} (${name})` })
  }

/** The region in the ARN of a key. */
const regionOf = (key: string): string | undefined => /^arn:[\w-]+:kms:([\w-]+):/u.exec(key)?.[1]

/** The 64 bytes, r then s, of an ECDSA signature in DER. */
export const signatureOfDer = (der: Uint8Array): Uint8Array | undefined => {
  try {
    return p256.Signature.fromBytes(der, "der").toBytes("compact")
  } catch {
    return undefined
  }
}

/** The uncompressed point in the SubjectPublicKeyInfo of a P-256 key. */
const pointOfSpki = (der: Uint8Array): Uint8Array | undefined => {
  try {
    const {
      crv,
      x = "",
      y = ""
    } = createPublicKey({
      key: Buffer.from(der),
      type: "spki",
      format: "der"
    }).export({ format: "jwk" })
    const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")])
    return crv === "P-256" && point.length === P256_PUBLIC_KEY_BYTES ? new Uint8Array(point) : undefined
  } catch {
    return undefined
  }
}

const clientsOf = (config: KMSClientConfig) => {
  const clients = new Map<string, KMSClient>()
  return (key: string): KMSClient => {
    const region = regionOf(key)
    const known = clients.get(region ?? "")
    if (known !== undefined) return known
    const client = new KMSClient({
      ...(region === undefined ? {} : { region }),
      maxAttempts: MAX_ATTEMPTS,
      requestHandler: {
        connectionTimeout: ATTEMPT_TIMEOUT_MILLIS,
        requestTimeout: ATTEMPT_TIMEOUT_MILLIS,
        throwOnRequestTimeout: true
      },
      ...config
    })
    clients.set(region ?? "", client)
    return client
  }
}

/**
 * AWS KMS. A key is named by its ARN, or by an id or an alias in the region of `AWS_REGION`. Region, credentials and endpoint are
 * those of the AWS SDK unless `config` says otherwise.
 */
export const makeAwsKms = (config: KMSClientConfig = {}): KeyService => {
  const clientFor = clientsOf(config)
  const call = <A>(
    key: string,
    operation: string,
    send: (client: KMSClient, options: { readonly abortSignal: AbortSignal }) => Promise<A>
  ) => calling(key, async (abortSignal) => send(clientFor(key), { abortSignal }), faultOf(key, operation))

  return {
    publicKey: Effect.fnUntraced(function* (key) {
      const { KeyId, KeySpec, KeyUsage, PublicKey } = yield* call(
        key,
        "kms:GetPublicKey",
        (client, options) => client.send(new GetPublicKeyCommand({ KeyId: key }), options)
      )
      if (KeySpec !== "ECC_NIST_P256" || KeyUsage !== "SIGN_VERIFY")
        return yield* refused(key, `is ${KeySpec} for ${KeyUsage}, and not ECC_NIST_P256 for SIGN_VERIFY`)
      const publicKey = PublicKey === undefined ? undefined : pointOfSpki(PublicKey)
      if (KeyId === undefined || publicKey === undefined)
        return yield* refused(key, "gave no public key on P-256")
      return { key: KeyId, publicKey }
    }),
    sign: Effect.fnUntraced(function* (key, digest) {
      const { Signature } = yield* call(key, "kms:Sign", (client, options) =>
        client.send(
          new SignCommand({
            KeyId: key,
            Message: digest,
            MessageType: "DIGEST",
            SigningAlgorithm: "ECDSA_SHA_256"
          }),
          options
        )
      )
      const signature = Signature === undefined ? undefined : signatureOfDer(Signature)
      return signature ?? (yield* refused(key, "gave no ECDSA signature on P-256"))
    }),
    newMasterKey: Effect.fnUntraced(function* (key) {
      const { CiphertextBlob, KeyId } = yield* call(
        key,
        "kms:GenerateDataKeyWithoutPlaintext",
        (client, options) =>
          client.send(
            new GenerateDataKeyWithoutPlaintextCommand({
              KeyId: key,
              NumberOfBytes: MASTER_KEY_BYTES,
              EncryptionContext: ENCRYPTION_CONTEXT
            }),
            options
          )
      )
      if (CiphertextBlob === undefined || KeyId === undefined) return yield* refused(key, "gave no data key")
      return { key: KeyId, encrypted: CiphertextBlob }
    }),
    openMasterKey: Effect.fnUntraced(function* (key, encrypted) {
      const { Plaintext } = yield* call(key, "kms:Decrypt", (client, options) =>
        client.send(
          new DecryptCommand({
            KeyId: key,
            CiphertextBlob: encrypted,
            EncryptionContext: ENCRYPTION_CONTEXT
          }),
          options
        )
      )
      return Plaintext ?? (yield* refused(key, "gave no plaintext"))
    })
  }
}
