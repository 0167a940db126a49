import { generateKeyPairSync, type KeyObject, sign } from "node:crypto"

/** PEM, as TLS servers take them. */
export interface Certified {
  readonly key: string
  readonly cert: string
}

export interface CertificateAuthority {
  /** PEM. */
  readonly certificate: string
  /** A certificate for these hosts that ends so many days from now: in the past, if negative. */
  readonly issue: (hosts: ReadonlyArray<string>, days?: number) => Certified
}

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  utf8: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
  dnsName: 0x82,
  version: 0xa0,
  extensions: 0xa3
}
const ECDSA_WITH_SHA256 = Buffer.from("06082a8648ce3d040302", "hex")
const COMMON_NAME = Buffer.from("0603550403", "hex")
const SUBJECT_ALT_NAME = Buffer.from("0603551d11", "hex")
const BASIC_CONSTRAINTS = Buffer.from("0603551d13", "hex")
const TRUE = Buffer.from([0xff])
const MILLISECONDS_PER_DAY = 86_400_000
const LIFETIME_DAYS = 30

const der = (tag: number, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content])
}
const sequence = (...parts: ReadonlyArray<Buffer>) => der(TAG.sequence, ...parts)
const nameOf = (text: string) =>
  sequence(der(TAG.set, sequence(COMMON_NAME, der(TAG.utf8, Buffer.from(text)))))
const utcTime = (milliseconds: number) =>
  der(TAG.utcTime, Buffer.from(`${new Date(milliseconds).toISOString().replace(/\D/gu, "").slice(2, 14)}Z`))
const withoutUnusedBits = (bytes: Buffer) => der(TAG.bits, Buffer.from([0]), bytes)
const pem = (bytes: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64")}\n-----END CERTIFICATE-----\n`

const certify = (certificate: {
  readonly serial: number
  readonly subject: string
  readonly publicKey: KeyObject
  readonly issuer: string
  readonly issuerKey: KeyObject
  readonly endsAt: number
  readonly extension: Buffer
}): string => {
  const { serial, subject, publicKey, issuer, issuerKey, endsAt, extension } = certificate
  const algorithm = sequence(ECDSA_WITH_SHA256)
  const certified = sequence(
    der(TAG.version, der(TAG.integer, Buffer.from([2]))),
    der(TAG.integer, Buffer.from([serial])),
    algorithm,
    nameOf(issuer),
    sequence(utcTime(endsAt - LIFETIME_DAYS * MILLISECONDS_PER_DAY), utcTime(endsAt)),
    nameOf(subject),
    publicKey.export({ type: "spki", format: "der" }),
    der(TAG.extensions, sequence(extension))
  )
  return pem(sequence(certified, algorithm, withoutUnusedBits(sign("sha256", certified, issuerKey))))
}

const inDays = (days: number) => Date.now() + days * MILLISECONDS_PER_DAY

/** An authority with a P-256 key that nobody trusts who is not told to (RFC 5280). */
export const certificateAuthority = (name: string): CertificateAuthority => {
  const root = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const issuer = { issuer: name, issuerKey: root.privateKey }
  let serial = 1
  const certificate = certify({
    ...issuer,
    serial,
    subject: name,
    publicKey: root.publicKey,
    endsAt: inDays(LIFETIME_DAYS / 2),
    extension: sequence(
      BASIC_CONSTRAINTS,
      der(TAG.boolean, TRUE),
      der(TAG.octets, sequence(der(TAG.boolean, TRUE)))
    )
  })
  return {
    certificate,
    issue: (hosts, days = 2) => {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
      serial += 1
      const alternatives = sequence(...hosts.map((host) => der(TAG.dnsName, Buffer.from(host))))
      const cert = certify({
        ...issuer,
        serial,
        subject: hosts[0] ?? "nobody",
        publicKey,
        endsAt: inDays(days),
        extension: sequence(SUBJECT_ALT_NAME, der(TAG.octets, alternatives))
      })
      return { cert, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() }
    }
  }
}
