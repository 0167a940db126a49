import { createHash, generateKeyPairSync, sign } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { kmsSigner } from "./kms.ts"

describe("a signer on a KMS", () => {
  it("is asked for the signature of a digest, and gives the 64 bytes of its DER", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const data = new Uint8Array([1, 2, 3])
    const digest = new Uint8Array(createHash("sha256").update(data).digest())
    const asked: Array<Uint8Array> = []
    const signer = kmsSigner(publicKey.export({ format: "jwk" }), async (given) => {
      asked.push(given)
      return sign("sha256", data, privateKey)
    })
    const signature = await signer.sign({ data, digest, signal: AbortSignal.timeout(1000) })
    assert.deepStrictEqual([signature.length, asked], [64, [digest]])
  })
})
