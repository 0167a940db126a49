import {
  KeyManagement,
  type KeyManagementFault,
  KeyManagementRefused,
  type ManagedKeys
} from "@svc/domain/ports/KeyManagement"
import { MASTER_KEY_BYTES } from "@svc/domain/ports/SecretSealer"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { Effect, Layer, Redacted } from "effect"
import type { AwsKmsClientOptions, AzureTokenCredential } from "./ClientOptions.ts"
import { KeyManagementObserver, UNOBSERVED } from "./KeyManagementObserver.ts"
import type { KeyService } from "./KeyService.ts"
import { rememberingRefusals } from "./RefusedKeys.ts"

/** The services by the name that begins the names of their keys. */
export type KeyServices = Readonly<Record<string, Effect.Effect<KeyService, KeyManagementFault>>>

/** Between the name of a key and what it encrypted. Neither base64url nor the end of a key's name has one. */
const SEPARATOR = "."

/** Whether a text is a master key that a key management service encrypted, by its form alone. */
export const isEncryptedMasterKey = (text: string): boolean => {
  const end = text.lastIndexOf(SEPARATOR)
  return /^[a-z][a-z-]*:\S+$/u.test(text.slice(0, Math.max(end, 0))) && isBase64Url(text.slice(end + 1))
}

const isBase64Url = (text: string): boolean => text !== "" && decodeBase64Url(text) !== undefined

const unknownService = (services: KeyServices) =>
  new KeyManagementRefused({
    detail: `the name of a key must begin with ${Object.keys(services)
      .map((service) => `${service}:`)
      .join(" or ")}`
  })

const serviceOf = Effect.fnUntraced(function* (services: KeyServices, name: string) {
  const end = name.indexOf(":")
  const prefix = name.slice(0, Math.max(end, 0))
  const service = Object.hasOwn(services, prefix) ? services[prefix] : undefined
  if (service === undefined) return yield* unknownService(services)
  return { prefix, key: name.slice(end + 1), service: yield* service }
})

/**
 * The port on some services. Every call of a service goes through the observer; a key that was refused is not asked to sign
 * again at once.
 */
export const managedKeys = (
  services: KeyServices,
  { calling }: KeyManagementObserver = UNOBSERVED
): ManagedKeys => ({
  publicKey: Effect.fnUntraced(function* (name) {
    const { key, prefix, service } = yield* serviceOf(services, name)
    const found = yield* calling("public_key", service.publicKey(key))
    return { name: `${prefix}:${found.key}`, publicKey: found.publicKey }
  }),
  sign: rememberingRefusals(
    Effect.fnUntraced(function* (name, digest) {
      const { key, service } = yield* serviceOf(services, name)
      return yield* calling("sign", service.sign(key, digest))
    })
  ),
  newMasterKey: Effect.fnUntraced(function* (name) {
    const { key, prefix, service } = yield* serviceOf(services, name)
    const made = yield* calling("new_master_key", service.newMasterKey(key))
    return `${prefix}:${made.key}${SEPARATOR}${encodeBase64Url(made.encrypted)}`
  }),
  openMasterKey: Effect.fnUntraced(function* (text) {
    const end = text.lastIndexOf(SEPARATOR)
    const encrypted = decodeBase64Url(text.slice(end + 1))
    if (end < 0 || encrypted === undefined)
      return yield* new KeyManagementRefused({ detail: "an encrypted master key has another form" })
    const { key, service } = yield* serviceOf(services, text.slice(0, end))
    const plain = yield* calling("open_master_key", service.openMasterKey(key, encrypted))
    return plain.length === MASTER_KEY_BYTES
      ? Redacted.make(plain, { label: "master key" })
      : yield* new KeyManagementRefused({
          detail: `${key} decrypted ${plain.length} bytes, and not ${MASTER_KEY_BYTES}`
        })
  })
})

/** The clients of the services are installed by those who use them. */
const loaded = (packages: string, load: () => Promise<KeyService>) => {
  let service: Promise<KeyService> | undefined
  return Effect.tryPromise({
    try: async () => {
      service ??= load()
      return service
    },
    catch: (cause) => {
      service = undefined
      return cause
    }
  }).pipe(
    Effect.catch((cause) =>
      (cause as { readonly code?: unknown } | null)?.code === "ERR_MODULE_NOT_FOUND"
        ? Effect.fail(
            new KeyManagementRefused({ detail: `the client is not installed: npm install ${packages}` })
          )
        : Effect.die(cause)
    )
  )
}

const AWS_CLIENT = "@aws-sdk/client-kms"
const AZURE_CLIENT = "@azure/keyvault-keys"
const AZURE_CREDENTIALS = "@azure/identity"

/** Keys in AWS KMS, whose client is loaded with the first of them. */
export const awsKmsKeys = ({ credentials, endpoint, region }: AwsKmsClientOptions): ManagedKeys =>
  managedKeys({
    "aws-kms": loaded(AWS_CLIENT, async () =>
      (await import("./AwsKms.ts")).makeAwsKms({
        ...(credentials === undefined ? {} : { credentials }),
        ...(endpoint === undefined ? {} : { endpoint }),
        ...(region === undefined ? {} : { region })
      })
    )
  })

/** Keys in Azure Key Vault, whose client is loaded with the first of them. */
export const azureKeyVaultKeys = (credential: AzureTokenCredential): ManagedKeys =>
  managedKeys({
    "azure-key-vault": loaded(AZURE_CLIENT, async () =>
      (await import("./AzureKeyVault.ts")).makeAzureKeyVault(credential)
    )
  })

/** The services, whose clients are loaded with the first key of theirs. */
const keyServices = (): KeyServices => ({
  "aws-kms": loaded(AWS_CLIENT, async () => (await import("./AwsKms.ts")).makeAwsKms()),
  "azure-key-vault": loaded(`${AZURE_CLIENT} ${AZURE_CREDENTIALS}`, async () => {
    const [{ makeAzureKeyVault }, { DefaultAzureCredential }] = await Promise.all([
      import("./AzureKeyVault.ts"),
      import("@azure/identity")
    ])
    return makeAzureKeyVault(new DefaultAzureCredential())
  })
})

/** Uses the services with the credentials that their clients find in the environment of the process. */
export const layer: Layer.Layer<never> = Layer.effect(
  KeyManagement,
  Effect.map(KeyManagementObserver, (observer) => managedKeys(keyServices(), observer))
)
