import { encodeBase64Url } from "@svc/protocol/Base64Url"

/*
 * Public keys of passkeys: COSE_Key (RFC 9052 section 7, RFC 9053 section 7, RFC 8230 section 4), which is a CBOR map (RFC 8949)
 * of small integers to integers and byte strings.
 */

/** COSE algorithms that passkeys may have (part 6). */
export const ES256 = -7
export const EDDSA = -8
export const RS256 = -257

export const isKnownAlgorithm = (algorithm: number): boolean => [ES256, EDDSA, RS256].includes(algorithm)

const COORDINATE_BYTES = 32
/** Shortest RSA modulus, in bytes (NIST SP 800-131A). */
const MIN_MODULUS_BYTES = 256
const UNCOMPRESSED_POINT = 0x04

const MAJOR_UNSIGNED = 0
const MAJOR_NEGATIVE = 1
const MAJOR_BYTES = 2
const MAJOR_MAP = 5

interface Reader {
  readonly bytes: Uint8Array
  at: number
}

/** An argument of up to two bytes, in its shortest form: keys need no longer ones. */
const readHead = (reader: Reader): readonly [major: number, argument: number] => {
  const { bytes } = reader
  const first = bytes[reader.at++] ?? -1
  const size = first & 31
  if (first < 0) throw new RangeError("the key ends early")
  if (size < 24) return [first >> 5, size]
  const length = size === 24 ? 1 : size === 25 ? 2 : 0
  let argument = 0
  for (let index = 0; index < length; index++) argument = argument * 256 + (bytes[reader.at++] ?? Number.NaN)
  if (!(argument >= (size === 24 ? 24 : 256))) throw new RangeError("not a length of a key")
  return [first >> 5, argument]
}

const readItem = (reader: Reader): number | Uint8Array => {
  const [major, argument] = readHead(reader)
  if (major === MAJOR_UNSIGNED) return argument
  if (major === MAJOR_NEGATIVE) return -1 - argument
  if (major !== MAJOR_BYTES) throw new RangeError("not a member of a key")
  const bytes = reader.bytes.subarray(reader.at, reader.at + argument)
  if (bytes.length !== argument) throw new RangeError("the key ends early")
  reader.at += argument
  return bytes
}

type CoseKey = ReadonlyMap<number, number | Uint8Array>

/** Undefined for bytes that are no COSE_Key, or more than one. */
const decodeCoseKey = (bytes: Uint8Array): CoseKey | undefined => {
  const reader: Reader = { bytes, at: 0 }
  try {
    const [major, members] = readHead(reader)
    if (major !== MAJOR_MAP) return undefined
    const key = new Map<number, number | Uint8Array>()
    for (let index = 0; index < members; index++) {
      const label = readItem(reader)
      if (typeof label !== "number" || key.has(label)) return undefined
      key.set(label, readItem(reader))
    }
    return reader.at === bytes.length ? key : undefined
  } catch {
    return undefined
  }
}

/** A public key in the form that WebCrypto takes. */
export interface PasskeyKey {
  readonly format: "raw" | "jwk"
  readonly key: Uint8Array<ArrayBuffer> | JsonWebKey
  readonly importing: { readonly name: string; readonly namedCurve?: string; readonly hash?: string }
  readonly verifying: { readonly name: string; readonly hash?: string }
}

const isBytes = (value: unknown, length: number): value is Uint8Array =>
  value instanceof Uint8Array && value.length === length

const es256Key = (key: CoseKey): PasskeyKey | undefined => {
  const [x, y] = [key.get(-2), key.get(-3)]
  if (
    key.get(1) !== 2 ||
    key.get(-1) !== 1 ||
    !isBytes(x, COORDINATE_BYTES) ||
    !isBytes(y, COORDINATE_BYTES)
  ) {
    return undefined
  }
  return {
    format: "raw",
    key: Uint8Array.of(UNCOMPRESSED_POINT, ...x, ...y),
    importing: { name: "ECDSA", namedCurve: "P-256" },
    verifying: { name: "ECDSA", hash: "SHA-256" }
  }
}

const eddsaKey = (key: CoseKey): PasskeyKey | undefined => {
  const x = key.get(-2)
  if (key.get(1) !== 1 || key.get(-1) !== 6 || !isBytes(x, COORDINATE_BYTES)) return undefined
  return {
    format: "raw",
    key: Uint8Array.from(x),
    importing: { name: "Ed25519" },
    verifying: { name: "Ed25519" }
  }
}

const rs256Key = (key: CoseKey): PasskeyKey | undefined => {
  const [n, e] = [key.get(-1), key.get(-2)]
  if (key.get(1) !== 3 || !(n instanceof Uint8Array) || !(e instanceof Uint8Array)) return undefined
  if (n[0] === 0 || n.length < MIN_MODULUS_BYTES) return undefined
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }
  return {
    format: "jwk",
    key: { kty: "RSA", n: encodeBase64Url(n), e: encodeBase64Url(e) },
    importing: algorithm,
    verifying: algorithm
  }
}

/** The key that COSE_Key bytes hold, if it is one of the algorithm. */
export const passkeyKey = (bytes: Uint8Array, algorithm: number): PasskeyKey | undefined => {
  const key = decodeCoseKey(bytes)
  if (key === undefined || key.get(3) !== algorithm) return undefined
  switch (algorithm) {
    case ES256:
      return es256Key(key)
    case EDDSA:
      return eddsaKey(key)
    case RS256:
      return rs256Key(key)
    default:
      return undefined
  }
}
