import { ed25519 } from "@noble/curves/ed25519.js"
import { p256 } from "@noble/curves/nist.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { Data } from "effect"
import { type CborValue, encodeCbor } from "./CborEncoder.ts"

/** COSE algorithm numbers that the authenticator makes keys for: ES256 and EdDSA (Ed25519). */
export type SoftwareAlgorithm = -7 | -8

/** A credential's key pair. Give `makeKeyPair` to use another algorithm than the built-in ones. */
export interface CredentialKeyPair {
  readonly algorithm: number
  /** COSE_Key (RFC 9052 section 7), as CBOR. */
  readonly coseKey: Uint8Array
  /** The signature in the form that WebAuthn gives the algorithm: DER for ES256. */
  readonly sign: (data: Uint8Array) => Uint8Array
}

export type RandomBytes = (count: number) => Uint8Array

export interface SoftwarePasskeyOptions {
  /** The origin that the browser would report. */
  readonly origin: string
  /** Default: the one of the options, else the host of `origin`. */
  readonly rpId?: string
  /** Default -7. */
  readonly algorithm?: SoftwareAlgorithm
  readonly makeKeyPair?: (random: RandomBytes) => CredentialKeyPair
  /** Signature counter at registration. 0 (default) stays 0, as synced passkeys do; else it grows by 1. */
  readonly counter?: number
  /** BE, default true. */
  readonly backupEligible?: boolean
  /** BS, default the same as BE. */
  readonly backedUp?: boolean
  /** Default: Web Crypto. A seeded one makes keys and credential ids repeatable. */
  readonly random?: RandomBytes
}

/** PublicKeyCredentialCreationOptionsJSON, as far as it is read. */
export interface CreationOptions {
  readonly challenge: string
  readonly rp: { readonly id?: string | undefined }
  readonly user: { readonly id: string }
  readonly pubKeyCredParams: ReadonlyArray<{ readonly alg: number }>
  readonly excludeCredentials?: ReadonlyArray<{ readonly id: string }> | undefined
}

/** PublicKeyCredentialRequestOptionsJSON, as far as it is read. */
export interface RequestOptions {
  readonly challenge: string
  readonly rpId?: string | undefined
  readonly allowCredentials?: ReadonlyArray<{ readonly id: string }> | undefined
}

/** What a faulty or hostile browser or authenticator does differently. What is absent is done right. */
export interface Misbehaviour {
  /** The flags byte as a whole. */
  readonly flags?: number
  readonly counter?: number
  readonly rpId?: string
  readonly type?: string
  readonly challenge?: string
  readonly origin?: string
  readonly crossOrigin?: unknown
  readonly topOrigin?: unknown
  /** Rewrites the client data last; its result is what is signed. */
  readonly clientDataJson?: (text: string) => string | Uint8Array
  /** `id` and `rawId` of the response; the attested id stays. */
  readonly id?: string
  readonly rawId?: string
  /** `null` leaves it out, as authenticators may when credentials were named. */
  readonly userHandle?: string | null
  /** Changes the signature bytes. */
  readonly signature?: (signature: Uint8Array) => Uint8Array
}

/** RegistrationResponseJSON (WebAuthn Level 3 section 5.1). */
export interface SoftwareRegistration {
  readonly id: string
  readonly rawId: string
  readonly type: "public-key"
  readonly authenticatorAttachment: "platform"
  readonly clientExtensionResults: Readonly<Record<string, never>>
  readonly response: {
    readonly clientDataJSON: string
    readonly attestationObject: string
    readonly authenticatorData: string
    readonly publicKeyAlgorithm: number
    readonly transports: ReadonlyArray<"internal">
  }
}

/** AuthenticationResponseJSON (WebAuthn Level 3 section 5.1). */
export interface SoftwareAssertion {
  readonly id: string
  readonly rawId: string
  readonly type: "public-key"
  readonly authenticatorAttachment: "platform"
  readonly clientExtensionResults: Readonly<Record<string, never>>
  readonly response: {
    readonly clientDataJSON: string
    readonly authenticatorData: string
    readonly signature: string
    readonly userHandle?: string
  }
}

const ABORTED_BECAUSE = {
  InvalidStateError: "the authenticator has one of the passkeys that must not be registered again",
  NotAllowedError: "the authenticator has none of the passkeys that may answer",
  NotSupportedError: "the authenticator makes keys of none of the algorithms that are asked for"
} as const

/** The ceremony ends without a response; `reason` is the name of the DOMException that a browser would throw. */
export class CeremonyAborted extends Data.TaggedError("CeremonyAborted")<{
  readonly reason: keyof typeof ABORTED_BECAUSE
}> {
  override get message(): string {
    return `${ABORTED_BECAUSE[this.reason]} (${this.reason})`
  }
}

/** An authenticator in software with resident credentials: for tests, trials and examples only. */
export interface SoftwarePasskey {
  /** Creates a credential, as `navigator.credentials.create`. Throws `CeremonyAborted`. */
  readonly register: (options: CreationOptions, misbehaviour?: Misbehaviour) => SoftwareRegistration
  /** Signs a challenge, as `navigator.credentials.get`. Throws `CeremonyAborted`. */
  readonly authenticate: (options: RequestOptions, misbehaviour?: Misbehaviour) => SoftwareAssertion
}

interface Credential {
  readonly id: string
  readonly rpId: string
  readonly userHandle: string
  readonly keyPair: CredentialKeyPair
  counter: number
}

/** Authenticator data flags (WebAuthn Level 3 section 6.1). */
export const FLAG_USER_PRESENT = 0x01
export const FLAG_USER_VERIFIED = 0x04
export const FLAG_BACKUP_ELIGIBLE = 0x08
export const FLAG_BACKED_UP = 0x10
export const FLAG_ATTESTED_CREDENTIAL = 0x40

const CREDENTIAL_ID_BYTES = 32
const AAGUID = new Uint8Array(16)
const COORDINATE_BYTES = 32

/** Random bytes that a key is made from; P-256 takes more than it has, to leave no bias. */
const P256_SEED_BYTES = 48
const ED25519_SEED_BYTES = 32

const encoder = new TextEncoder()

const webCryptoRandom: RandomBytes = (count) => crypto.getRandomValues(new Uint8Array(count))

const concat = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const output = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    output.set(part, offset)
    offset += part.length
  }
  return output
}

const uint16 = (value: number): Uint8Array => Uint8Array.of(value >> 8, value & 0xff)

const uint32 = (value: number): Uint8Array =>
  Uint8Array.of(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff)

const makeEs256 = (random: RandomBytes): CredentialKeyPair => {
  const { secretKey } = p256.keygen(random(P256_SEED_BYTES))
  const point = p256.getPublicKey(secretKey, false)
  const coseKey = new Map<number, number | Uint8Array>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, point.slice(1, 1 + COORDINATE_BYTES)],
    [-3, point.slice(1 + COORDINATE_BYTES)]
  ])
  return {
    algorithm: -7,
    coseKey: encodeCbor(coseKey),
    // Authenticators do not normalize s.
    sign: (data) => p256.sign(data, secretKey, { prehash: true, lowS: false, format: "der" })
  }
}

const makeEd25519 = (random: RandomBytes): CredentialKeyPair => {
  const { secretKey, publicKey } = ed25519.keygen(random(ED25519_SEED_BYTES))
  const coseKey = new Map<number, number | Uint8Array>([
    [1, 1],
    [3, -8],
    [-1, 6],
    [-2, publicKey]
  ])
  return { algorithm: -8, coseKey: encodeCbor(coseKey), sign: (data) => ed25519.sign(data, secretKey) }
}

const clientDataOf = (
  type: "webauthn.create" | "webauthn.get",
  challenge: string,
  origin: string,
  misbehaviour: Misbehaviour
): Uint8Array => {
  const text = JSON.stringify({
    type: misbehaviour.type ?? type,
    challenge: misbehaviour.challenge ?? challenge,
    origin: misbehaviour.origin ?? origin,
    crossOrigin: "crossOrigin" in misbehaviour ? misbehaviour.crossOrigin : false,
    topOrigin: misbehaviour.topOrigin
  })
  const rewritten = misbehaviour.clientDataJson?.(text) ?? text
  return typeof rewritten === "string" ? encoder.encode(rewritten) : rewritten
}

/** An authenticator whose user always agrees, at once, and is always verified. */
export const makeSoftwarePasskey = (configuration: SoftwarePasskeyOptions): SoftwarePasskey => {
  const { origin, counter: firstCounter = 0, backupEligible = true } = configuration
  const backedUp = configuration.backedUp ?? backupEligible
  const random = configuration.random ?? webCryptoRandom
  const makeKeyPair = configuration.makeKeyPair ?? (configuration.algorithm === -8 ? makeEd25519 : makeEs256)
  const credentials: Array<Credential> = []

  const honestFlags =
    FLAG_USER_PRESENT |
    FLAG_USER_VERIFIED |
    (backupEligible ? FLAG_BACKUP_ELIGIBLE : 0) |
    (backedUp ? FLAG_BACKED_UP : 0)
  const rpIdOf = (asked: string | undefined) => configuration.rpId ?? asked ?? new URL(origin).hostname

  const authenticatorData = (credential: Credential, flags: number, misbehaviour: Misbehaviour) =>
    concat(
      sha256(encoder.encode(misbehaviour.rpId ?? credential.rpId)),
      Uint8Array.of(misbehaviour.flags ?? flags),
      uint32(misbehaviour.counter ?? credential.counter)
    )

  const register = (options: CreationOptions, misbehaviour: Misbehaviour = {}): SoftwareRegistration => {
    const excluded = new Set(options.excludeCredentials?.map(({ id }) => id))
    if (credentials.some(({ id }) => excluded.has(id))) {
      throw new CeremonyAborted({ reason: "InvalidStateError" })
    }
    const keyPair = makeKeyPair(random)
    if (!options.pubKeyCredParams.some(({ alg }) => alg === keyPair.algorithm)) {
      throw new CeremonyAborted({ reason: "NotSupportedError" })
    }
    const idBytes = random(CREDENTIAL_ID_BYTES)
    const id = encodeBase64Url(idBytes)
    const userHandle = options.user.id
    const credential = { id, rpId: rpIdOf(options.rp.id), userHandle, keyPair, counter: firstCounter }
    const authData = concat(
      authenticatorData(credential, honestFlags | FLAG_ATTESTED_CREDENTIAL, misbehaviour),
      AAGUID,
      uint16(idBytes.length),
      idBytes,
      keyPair.coseKey
    )
    const attestation = encodeCbor(
      new Map<string, CborValue>([
        ["fmt", "none"],
        ["attStmt", new Map()],
        ["authData", authData]
      ])
    )
    credentials.push(credential)
    return {
      id: misbehaviour.id ?? id,
      rawId: misbehaviour.rawId ?? misbehaviour.id ?? id,
      type: "public-key",
      authenticatorAttachment: "platform",
      clientExtensionResults: {},
      response: {
        clientDataJSON: encodeBase64Url(
          clientDataOf("webauthn.create", options.challenge, origin, misbehaviour)
        ),
        attestationObject: encodeBase64Url(attestation),
        authenticatorData: encodeBase64Url(authData),
        publicKeyAlgorithm: keyPair.algorithm,
        transports: ["internal"]
      }
    }
  }

  /** The newest credential of the relying party, of those that the options name if they name any. */
  const find = (options: RequestOptions): Credential => {
    const rpId = rpIdOf(options.rpId)
    const named = options.allowCredentials ?? []
    const found = credentials.findLast(
      (credential) =>
        credential.rpId === rpId && (named.length === 0 || named.some(({ id }) => id === credential.id))
    )
    if (found === undefined) throw new CeremonyAborted({ reason: "NotAllowedError" })
    return found
  }

  const authenticate = (options: RequestOptions, misbehaviour: Misbehaviour = {}): SoftwareAssertion => {
    const credential = find(options)
    if (firstCounter > 0) credential.counter += 1
    const authData = authenticatorData(credential, honestFlags, misbehaviour)
    const clientData = clientDataOf("webauthn.get", options.challenge, origin, misbehaviour)
    const signature = credential.keyPair.sign(concat(authData, sha256(clientData)))
    const userHandle = misbehaviour.userHandle === undefined ? credential.userHandle : misbehaviour.userHandle
    return {
      id: misbehaviour.id ?? credential.id,
      rawId: misbehaviour.rawId ?? misbehaviour.id ?? credential.id,
      type: "public-key",
      authenticatorAttachment: "platform",
      clientExtensionResults: {},
      response: {
        clientDataJSON: encodeBase64Url(clientData),
        authenticatorData: encodeBase64Url(authData),
        signature: encodeBase64Url(misbehaviour.signature?.(signature) ?? signature),
        ...(userHandle === null ? {} : { userHandle })
      }
    }
  }

  return { register, authenticate }
}
