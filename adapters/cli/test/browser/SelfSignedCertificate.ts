import { createHash, generateKeyPairSync, sign } from "node:crypto"

/** A key with a certificate that nobody vouches for, and the digest by which a browser can be told to take it. */
export interface SelfSignedCertificate {
  readonly key: string
  readonly cert: string
  /** base64 of the SHA-256 of the public key (SubjectPublicKeyInfo). */
  readonly digest: string
}

const TAG = { integer: 0x02, bits: 0x03, octets: 0x04, utf8: 0x0c, utcTime: 0x17, sequence: 0x30, set: 0x31 }
/** Context tags of RFC 5280: version and extensions of the certificate, dNSName of an alternative name. */
const VERSION = 0xa0
const EXTENSIONS = 0xa3
const DNS_NAME = 0x82

const ECDSA_WITH_SHA256 = Buffer.from("06082a8648ce3d040302", "hex")
const COMMON_NAME = Buffer.from("0603550403", "hex")
const SUBJECT_ALT_NAME = Buffer.from("0603551d11", "hex")

const MILLISECONDS_PER_DAY = 86_400_000
const LIFETIME_DAYS = 2

const lengthOf = (length: number): Buffer => {
  if (length < 0x80) return Buffer.from([length])
  return length < 0x100 ? Buffer.from([0x81, length]) : Buffer.from([0x82, length >> 8, length & 0xff])
}

const der = (tag: number, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

/** YYMMDDHHMMSSZ */
const utcTime = (milliseconds: number): Buffer =>
  der(
    TAG.utcTime,
    Buffer.from(new Date(milliseconds).toISOString().replace(/\D/gu, "").slice(2, 14).concat("Z"))
  )

const noUnusedBits = (bytes: Buffer): Buffer => der(TAG.bits, Buffer.from([0]), bytes)

/** A P-256 key and a certificate over it (RFC 5280) that is good for these hosts until tomorrow. */
export const selfSignedCertificate = (hosts: ReadonlyArray<string>): SelfSignedCertificate => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const spki = publicKey.export({ type: "spki", format: "der" })
  const name = der(
    TAG.sequence,
    der(TAG.set, der(TAG.sequence, COMMON_NAME, der(TAG.utf8, Buffer.from("test"))))
  )
  const now = Date.now()
  const yesterday = now - MILLISECONDS_PER_DAY
  const validity = [utcTime(yesterday), utcTime(yesterday + LIFETIME_DAYS * MILLISECONDS_PER_DAY)]
  const alternativeNames = der(TAG.sequence, ...hosts.map((host) => der(DNS_NAME, Buffer.from(host))))
  const algorithm = der(TAG.sequence, ECDSA_WITH_SHA256)
  const certified = der(
    TAG.sequence,
    der(VERSION, der(TAG.integer, Buffer.from([2]))),
    der(TAG.integer, Buffer.from([1])),
    algorithm,
    name,
    der(TAG.sequence, ...validity),
    name,
    spki,
    der(EXTENSIONS, der(TAG.sequence, der(TAG.sequence, SUBJECT_ALT_NAME, der(TAG.octets, alternativeNames))))
  )
  const certificate = der(
    TAG.sequence,
    certified,
    algorithm,
    noUnusedBits(sign("sha256", certified, privateKey))
  )
  const lines = certificate.toString("base64").match(/.{1,64}/gu) ?? []
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    digest: createHash("sha256").update(spki).digest("base64")
  }
}
