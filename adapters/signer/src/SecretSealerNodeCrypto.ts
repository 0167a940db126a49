import { createCipheriv, createDecipheriv, hkdfSync, randomFillSync } from "node:crypto"
import { MASTER_KEY_BYTES, SealBroken, type SealContext, SecretSealer } from "@svc/domain/ports/SecretSealer"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { canonicalBytes } from "@svc/protocol/json/CanonicalJson"
import { Data, Effect, Layer, Redacted } from "effect"

/** The master keys of a deployment (part 9): the current one seals and opens, the previous one only opens. */
export interface MasterKeys {
  readonly current: Redacted.Redacted<Uint8Array>
  readonly previous?: Redacted.Redacted<Uint8Array> | undefined
}

/** A master key is not `MASTER_KEY_BYTES` long. */
export class MasterKeyInvalid extends Data.TaggedError("MasterKeyInvalid")<{
  readonly which: "current" | "previous"
}> {}

/** Prefix of a sealed text: `s1.{key id}.{base64url of nonce || ciphertext || tag}`. */
const FORMAT = "s1"

const CIPHER = "aes-256-gcm"
const KEY_BYTES = 32
const KEY_ID_BYTES = 6
const NONCE_BYTES = 12
const TAG_BYTES = 16
const NO_SALT = new Uint8Array(0)

type Purpose = SealContext["purpose"]

interface OpenedMasterKey {
  /** Derived from the key, and part of each sealed text. */
  readonly id: string
  readonly subkey: (purpose: Purpose) => Uint8Array
}

const expand = (master: Uint8Array, info: string, bytes: number): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", master, NO_SALT, info, bytes))

const openMasterKey = (
  which: "current" | "previous",
  redacted: Redacted.Redacted<Uint8Array>
): Effect.Effect<OpenedMasterKey, MasterKeyInvalid> =>
  Effect.suspend(() => {
    const master = Uint8Array.from(Redacted.value(redacted))
    if (master.length !== MASTER_KEY_BYTES) return Effect.fail(new MasterKeyInvalid({ which }))
    const subkeys = new Map<Purpose, Uint8Array>()
    return Effect.succeed({
      id: encodeBase64Url(expand(master, "svc:seal:key-id:v1", KEY_ID_BYTES)),
      subkey: (purpose: Purpose) => {
        const subkey = subkeys.get(purpose) ?? expand(master, `svc:seal:${purpose}:v1`, KEY_BYTES)
        subkeys.set(purpose, subkey)
        return subkey
      }
    })
  })

/** The associated data of a context; canonical JSON, so that no two contexts have the same bytes. */
const associatedData = (context: SealContext): Uint8Array =>
  canonicalBytes({
    format: FORMAT,
    organization: context.organization,
    purpose: context.purpose,
    row: context.row,
    version: context.version
  })

const seal = (key: OpenedMasterKey, context: SealContext, secret: string): string => {
  if (!secret.isWellFormed()) throw new RangeError("a secret with a lone surrogate has no UTF-8 form")
  const nonce = randomFillSync(new Uint8Array(NONCE_BYTES))
  const cipher = createCipheriv(CIPHER, key.subkey(context.purpose), nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(associatedData(context))
  const sealed = Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()])
  return `${FORMAT}.${key.id}.${encodeBase64Url(sealed)}`
}

const decrypt = (key: OpenedMasterKey, context: SealContext, sealed: Uint8Array): string => {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv(CIPHER, key.subkey(context.purpose), nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(associatedData(context))
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
  const secret = decipher.update(sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES))
  return Buffer.concat([secret, decipher.final()]).toString("utf8")
}

const open = (
  keys: ReadonlyArray<OpenedMasterKey>,
  context: SealContext,
  text: string
): Effect.Effect<Redacted.Redacted<string>, SealBroken> => {
  // Not made before it is needed: an error takes a stack trace.
  const broken = () => new SealBroken({ purpose: context.purpose })
  const [format, keyId, body, ...rest] = text.split(".")
  const key = keys.find((candidate) => candidate.id === keyId)
  const sealed = body === undefined ? undefined : decodeBase64Url(body)
  if (format !== FORMAT || key === undefined || sealed === undefined || rest.length > 0) {
    return Effect.fail(broken())
  }
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return Effect.fail(broken())
  return Effect.try({
    try: () => Redacted.make(decrypt(key, context, sealed), { label: context.purpose }),
    catch: broken
  })
}

/**
 * Seals secrets with AES-256-GCM under a subkey per purpose (HKDF-SHA256 of the master key), bound to
 * purpose, organization, row and version (part 8). After a change of the master key, the previous
 * one still opens what was sealed under it.
 */
export const layer = (masterKeys: MasterKeys): Layer.Layer<SecretSealer, MasterKeyInvalid> =>
  Layer.effect(
    SecretSealer,
    Effect.gen(function* () {
      const current = yield* openMasterKey("current", masterKeys.current)
      const keys = [current]
      if (masterKeys.previous !== undefined) keys.push(yield* openMasterKey("previous", masterKeys.previous))
      return SecretSealer.of({
        seal: (context, secret) => Effect.sync(() => seal(current, context, Redacted.value(secret))),
        open: (context, sealed) => open(keys, context, sealed)
      })
    })
  )
