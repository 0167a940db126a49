import { spawnSync } from "node:child_process"
import { createPublicKey } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { GENERATED, keySet, longLife, signingKey, signPayload } from "@svc/testkit/EvidenceMaker"
import { createLocalJWKSet, flattenedVerify } from "jose"

const payload = longLife().payload(GENERATED)
const { format: _, ...jws } = signPayload(payload)

/** A signature of 64 bytes as OpenSSL reads it. */
const derOf = (raw: Buffer): Buffer => {
  const integers = [raw.subarray(0, 32), raw.subarray(32)].map((scalar) => {
    const start = scalar.findIndex((byte) => byte !== 0)
    const digits = scalar.subarray(start)
    const content = digits[0]! > 127 ? Buffer.concat([Buffer.of(0), digits]) : digits
    return Buffer.concat([Buffer.of(2, content.length), content])
  })
  const content = Buffer.concat(integers)
  return Buffer.concat([Buffer.of(0x30, content.length), content])
}

const isThere = spawnSync("openssl", ["version"]).status === 0

describe("an envelope without its format", () => {
  it("is a flattened JWS to jose", async () => {
    const keys = createLocalJWKSet({ keys: keySet.keys.map((key) => ({ ...key })) })
    const verified = await flattenedVerify(jws, keys, { algorithms: ["ES256"] })
    assert.strictEqual(new TextDecoder().decode(verified.payload), payload)
    assert.deepStrictEqual(verified.protectedHeader, { alg: "ES256", kid: signingKey.kid })
    const other = { ...jws, payload: `${jws.payload.slice(0, -4)}AAAA` }
    const refused = await flattenedVerify(other, keys).catch((error) => error.code)
    assert.strictEqual(refused, "ERR_JWS_SIGNATURE_VERIFICATION_FAILED")
  })

  it.skipIf(!isThere)("has a signature that openssl verifies", () => {
    const folder = mkdtempSync(join(tmpdir(), "evidence-"))
    try {
      const file = (name: string, content: string | Buffer) => {
        const path = join(folder, name)
        writeFileSync(path, content)
        return path
      }
      const key = createPublicKey({ key: { ...signingKey.jwk }, format: "jwk" })
      const pem = file("key.pem", key.export({ type: "spki", format: "pem" }))
      const signature = file("signature", derOf(Buffer.from(jws.signature, "base64url")))
      const verify = (input: string) =>
        spawnSync("openssl", [
          "dgst",
          "-sha256",
          "-verify",
          pem,
          "-signature",
          signature,
          file("input", input)
        ]).stdout.toString()
      assert.strictEqual(verify(`${jws.protected}.${jws.payload}`), "Verified OK\n")
      assert.notInclude(verify(`${jws.protected}.${jws.payload}A`), "OK")
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
