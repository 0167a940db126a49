import { randomBytes } from "node:crypto"
import {
  CryptographyClient,
  type CryptographyClientOptions,
  KeyClient,
  type KeyVaultKey,
  parseKeyVaultKeyIdentifier
} from "@azure/keyvault-keys"
import { type KeyManagementFault, KeyManagementUnavailable } from "@svc/domain/ports/KeyManagement"
import { MASTER_KEY_BYTES } from "@svc/domain/ports/SecretSealer"
import { isP256PublicKey, P256_COORDINATE_BYTES, P256_SIGNATURE_BYTES } from "@svc/protocol/crypto/P256"
import { Effect } from "effect"
import { calling, type KeyService, MAX_ATTEMPTS, refused } from "./KeyService.ts"

/** Whatever gives tokens, such as a `DefaultAzureCredential` of `@azure/identity`. */
export type AzureCredential = ConstructorParameters<typeof KeyClient>[1]

/** First and longest pause between attempts, in milliseconds. */
const RETRY_PAUSE_MILLIS = 50
const MAX_RETRY_PAUSE_MILLIS = 1000

/** How a vault encrypts a master key: the one algorithm of RSA that it recommends. */
const WRAPPING = "RSA-OAEP-256"

interface VaultError {
  readonly name?: string
  readonly statusCode?: number
  readonly code?: string
  readonly details?: { readonly error?: { readonly innerError?: { readonly code?: string } } }
}

/** States of a key that may pass, though a vault answers 403 to them. */
const PASSING = new Set(["KeyDisabled", "KeyNotYetValid", "KeyExpired"])

const REFUSALS: Readonly<Record<number, string>> = {
  400: "is not accepted by the vault for",
  401: "was asked with credentials that the vault does not accept, for",
  403: "may not be used with the credentials of this process for",
  404: "does not exist for"
}

/** Errors of the client itself before a vault is asked. */
const LOCAL_REFUSALS: Readonly<Record<string, string>> = {
  CredentialUnavailableError: "needs Azure credentials, and this process has none, for",
  AggregateAuthenticationError: "needs Azure credentials, and this process has none, for",
  AuthenticationRequiredError: "needs Azure credentials, and this process has none, for",
  AuthenticationError: "was asked with credentials that Azure does not accept, for"
}

const faultOf =
  (key: string, operation: string) =>
  (error: unknown): KeyManagementFault => {
    const { code, details, name = "", statusCode = 0 }: VaultError = Object(error)
    const state = details?.error?.innerError?.code
    const words = LOCAL_REFUSALS[name] ?? REFUSALS[statusCode]
    if (state !== undefined && PASSING.has(state))
      return new KeyManagementUnavailable({
        detail: `${key} is disabled, expired or not valid yet (${state})`
      })
    if (words !== undefined) return refused(key, `${words} ${operation} (${state ?? code ?? name})`)
    return new KeyManagementUnavailable({
      detail:
        statusCode === 429
          ? `${key} is throttled by the vault`
          : `${key} did not answer ${operation} (${statusCode || code || name})`
    })
  }

/** The origin of the vault, the name of the key and its version. */
const partsOf = (key: string) => {
  try {
    const { name, vaultUrl, version } = parseKeyVaultKeyIdentifier(key)
    return { name, vaultUrl, version }
  } catch {
    return undefined
  }
}

const pointOf = ({ key: jwk }: KeyVaultKey): Uint8Array | undefined => {
  const { crv, kty, x, y } = jwk ?? {}
  if ((kty !== "EC" && kty !== "EC-HSM") || crv !== "P-256") return undefined
  if (x?.length !== P256_COORDINATE_BYTES || y?.length !== P256_COORDINATE_BYTES) return undefined
  const point = new Uint8Array([4, ...x, ...y])
  return isP256PublicKey(point) ? point : undefined
}

/**
 * Azure Key Vault and Managed HSM. A key is named by its identifier, `https://{vault}.vault.azure.net/keys/{name}/{version}`;
 * without the version it is the latest. `options` are those of the Azure SDK.
 */
export const makeAzureKeyVault = (
  credential: AzureCredential,
  options: CryptographyClientOptions = {}
): KeyService => {
  const settings = {
    ...options,
    retryOptions: {
      maxRetries: MAX_ATTEMPTS - 1,
      retryDelayInMs: RETRY_PAUSE_MILLIS,
      maxRetryDelayInMs: MAX_RETRY_PAUSE_MILLIS
    }
  }
  const clients = new Map<string, CryptographyClient>()
  const clientFor = (key: string): CryptographyClient => {
    const client = clients.get(key) ?? new CryptographyClient(key, credential, settings)
    clients.set(key, client)
    return client
  }
  const fetched = Effect.fnUntraced(function* (key: string) {
    const parts = partsOf(key)
    if (parts === undefined) return yield* refused(key, "is no key identifier of Azure Key Vault")
    const { name, vaultUrl, version } = parts
    const found = yield* calling(
      key,
      async (abortSignal) =>
        new KeyClient(vaultUrl, credential, settings).getKey(name, {
          ...(version === undefined ? {} : { version }),
          abortSignal
        }),
      faultOf(key, "keys/get")
    )
    return found.id === undefined ? yield* refused(key, "gave no identifier") : { found, id: found.id }
  })

  return {
    publicKey: Effect.fnUntraced(function* (key) {
      const { found, id } = yield* fetched(key)
      const publicKey = pointOf(found)
      if (publicKey === undefined)
        return yield* refused(
          key,
          `is ${found.keyType} ${found.key?.crv ?? ""}, and not EC or EC-HSM on P-256`
        )
      if (found.keyOperations?.includes("sign") === false)
        return yield* refused(key, "has no permission to sign among its operations")
      return { key: id, publicKey }
    }),
    sign: Effect.fnUntraced(function* (key, digest) {
      const { result } = yield* calling(
        key,
        async (abortSignal) => clientFor(key).sign("ES256", digest, { abortSignal }),
        faultOf(key, "keys/sign")
      )
      return result instanceof Uint8Array && result.length === P256_SIGNATURE_BYTES
        ? Uint8Array.from(result)
        : yield* refused(key, `gave no ES256 signature of ${P256_SIGNATURE_BYTES} bytes`)
    }),
    newMasterKey: Effect.fnUntraced(function* (key) {
      const { found, id } = yield* fetched(key)
      if (found.keyType !== "RSA" && found.keyType !== "RSA-HSM")
        return yield* refused(key, `is ${found.keyType}, and not RSA or RSA-HSM`)
      const plain = randomBytes(MASTER_KEY_BYTES)
      const { result } = yield* calling(
        key,
        async (abortSignal) => clientFor(id).wrapKey(WRAPPING, plain, { abortSignal }),
        faultOf(key, "keys/wrapKey")
      ).pipe(Effect.ensuring(Effect.sync(() => plain.fill(0))))
      return { key: id, encrypted: Uint8Array.from(result) }
    }),
    openMasterKey: Effect.fnUntraced(function* (key, encrypted) {
      const { result } = yield* calling(
        key,
        async (abortSignal) => clientFor(key).unwrapKey(WRAPPING, encrypted, { abortSignal }),
        faultOf(key, "keys/unwrapKey")
      )
      return Uint8Array.from(result)
    })
  }
}
