import { decodeCredentialPublicKey } from "@simplewebauthn/server/helpers"
import { isEd25519PublicKey } from "@svc/protocol/crypto/Ed25519"
import { isP256PublicKey, P256_COORDINATE_BYTES, P256_PUBLIC_KEY_BYTES } from "@svc/protocol/crypto/P256"
import { rsaKeyFault } from "@svc/protocol/crypto/RsaPublicKey"

/** COSE algorithms of the passkeys that we accept: ES256, EdDSA with Ed25519, RS256 (part 6). */
export const ES256 = -7
export const EDDSA = -8
export const RS256 = -257
export const ACCEPTED_ALGORITHMS: ReadonlyArray<number> = [ES256, EDDSA, RS256]

const UNCOMPRESSED_POINT = 0x04

/** Labels and values of COSE_Key (RFC 9052 section 7, RFC 9053 section 7, RFC 8230 section 4). */
const KTY = 1
const ALG = 3
const CRV_OR_N = -1
const X_OR_E = -2
const Y = -3
const KTY_OKP = 1
const KTY_EC2 = 2
const KTY_RSA = 3
const CRV_P256 = 1
const CRV_ED25519 = 6

type CoseKey = ReadonlyMap<unknown, unknown>

const isBytes = (value: unknown, length: number): value is Uint8Array =>
  value instanceof Uint8Array && value.length === length

const isP256Key = (key: CoseKey): boolean => {
  const [x, y] = [key.get(X_OR_E), key.get(Y)]
  if (key.get(KTY) !== KTY_EC2 || key.get(CRV_OR_N) !== CRV_P256) return false
  if (!isBytes(x, P256_COORDINATE_BYTES) || !isBytes(y, P256_COORDINATE_BYTES)) return false
  const point = new Uint8Array(P256_PUBLIC_KEY_BYTES)
  point[0] = UNCOMPRESSED_POINT
  point.set(x, 1)
  point.set(y, 1 + P256_COORDINATE_BYTES)
  return isP256PublicKey(point)
}

const isEd25519Key = (key: CoseKey): boolean => {
  const x = key.get(X_OR_E)
  if (key.get(KTY) !== KTY_OKP || key.get(CRV_OR_N) !== CRV_ED25519) return false
  return x instanceof Uint8Array && isEd25519PublicKey(x)
}

const isRsaKey = (key: CoseKey): boolean => {
  const [n, e] = [key.get(CRV_OR_N), key.get(X_OR_E)]
  if (key.get(KTY) !== KTY_RSA || !(n instanceof Uint8Array) || !(e instanceof Uint8Array)) return false
  // RFC 8230 section 4: without leading zeros.
  return n[0] !== 0 && rsaKeyFault({ modulus: n, exponent: e }) === undefined
}

/**
 * The algorithm of a credential's public key (COSE_Key as CBOR), or `undefined` if it is none that we
 * accept or the key is not of its kind: the library takes -7 with another curve, and points that are on
 * no curve, and finds out at the first assertion. Throws where the library cannot decode the bytes.
 */
export const acceptedAlgorithm = (publicKey: Uint8Array): number | undefined => {
  const key: unknown = decodeCredentialPublicKey(Uint8Array.from(publicKey))
  if (!(key instanceof Map)) return undefined
  switch (key.get(ALG)) {
    case ES256:
      return isP256Key(key) ? ES256 : undefined
    case EDDSA:
      return isEd25519Key(key) ? EDDSA : undefined
    case RS256:
      return isRsaKey(key) ? RS256 : undefined
    default:
      return undefined
  }
}
