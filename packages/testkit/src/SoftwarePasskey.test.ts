import { assert, describe, it } from "@effect/vitest"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { CeremonyAborted, makeSoftwarePasskey, type SoftwareAlgorithm } from "./SoftwarePasskey.ts"

const creation = {
  challenge: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
  rp: { id: "approve.example" },
  user: { id: "dXNlcg" },
  pubKeyCredParams: [{ alg: -7 }, { alg: -8 }]
}
const request = { challenge: creation.challenge, rpId: "approve.example" }
const origin = "https://approve.example"

const bytesOf = (text: string): Uint8Array => decodeBase64Url(text)!
const clientDataOf = (text: string): unknown => JSON.parse(new TextDecoder().decode(bytesOf(text)))
const flagsOf = (authenticatorData: string): number => bytesOf(authenticatorData)[32]!
const counterOf = (authenticatorData: string): number =>
  new DataView(bytesOf(authenticatorData).buffer).getUint32(33)

/** Verifies an assertion with Web Crypto alone, the key taken from the end of the attested data. */
const verifies = async (
  algorithm: SoftwareAlgorithm,
  registered: string,
  assertion: { clientDataJSON: string; authenticatorData: string; signature: string }
): Promise<boolean> => {
  const attested = bytesOf(registered)
  const hash = new Uint8Array(
    await crypto.subtle.digest("SHA-256", Uint8Array.from(bytesOf(assertion.clientDataJSON)))
  )
  const data = Uint8Array.from([...bytesOf(assertion.authenticatorData), ...hash])
  const signature = bytesOf(assertion.signature)
  if (algorithm === -8) {
    const key = await crypto.subtle.importKey("raw", attested.slice(-32), "Ed25519", false, ["verify"])
    return crypto.subtle.verify("Ed25519", key, Uint8Array.from(signature), data)
  }
  const point = Uint8Array.from([4, ...attested.slice(-67, -35), ...attested.slice(-32)])
  const ecdsa = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }
  const key = await crypto.subtle.importKey("raw", point, ecdsa, false, ["verify"])
  return crypto.subtle.verify(ecdsa, key, rawSignature(signature), data)
}

const rawSignature = (der: Uint8Array): Uint8Array<ArrayBuffer> => {
  const r = der.slice(4, 4 + der[3]!)
  const s = der.slice(6 + der[3]!)
  const raw = new Uint8Array(64)
  raw.set(r.slice(-32), 32 - Math.min(r.length, 32))
  raw.set(s.slice(-32), 64 - Math.min(s.length, 32))
  return raw
}

describe("makeSoftwarePasskey", () => {
  it.each([-7, -8] as const)("signs what Web Crypto verifies, algorithm %d", async (algorithm) => {
    for (let round = 0; round < 20; round++) {
      const passkey = makeSoftwarePasskey({ origin, algorithm })
      const { response } = passkey.register(creation)
      const assertion = passkey.authenticate(request)
      assert.isTrue(await verifies(algorithm, response.authenticatorData, assertion.response))
      assert.strictEqual(response.publicKeyAlgorithm, algorithm)
    }
  })

  it("responds as a browser on the origin does, with the user handle of the registration", () => {
    const passkey = makeSoftwarePasskey({ origin })
    const { response, id, rawId } = passkey.register(creation)
    const { challenge } = creation
    const honest = { challenge, origin, crossOrigin: false }
    assert.deepStrictEqual(clientDataOf(response.clientDataJSON), { type: "webauthn.create", ...honest })
    assert.strictEqual(id, rawId)
    const assertion = passkey.authenticate({ ...request, allowCredentials: [{ id }] })
    assert.deepStrictEqual(clientDataOf(assertion.response.clientDataJSON), {
      type: "webauthn.get",
      ...honest
    })
    assert.strictEqual(assertion.id, id)
    assert.strictEqual(assertion.response.userHandle, "dXNlcg")
    assert.strictEqual(flagsOf(assertion.response.authenticatorData), 0x1d)
    assert.strictEqual(flagsOf(response.authenticatorData), 0x5d)
  })

  it("keeps a counter of 0 and counts from any other", () => {
    const cases: ReadonlyArray<[number, Array<number>]> = [
      [0, [0, 0]],
      [5, [6, 7]]
    ]
    for (const [counter, expected] of cases) {
      const passkey = makeSoftwarePasskey({ origin, counter })
      passkey.register(creation)
      const counters = [passkey.authenticate(request), passkey.authenticate(request)]
      assert.deepStrictEqual(
        counters.map(({ response }) => counterOf(response.authenticatorData)),
        expected
      )
    }
  })

  it("aborts where an authenticator would", () => {
    const passkey = makeSoftwarePasskey({ origin })
    const reasonOf = (ceremony: () => unknown) => {
      try {
        ceremony()
        return "answered"
      } catch (error) {
        return error instanceof CeremonyAborted ? error.reason : "threw something else"
      }
    }
    assert.strictEqual(
      reasonOf(() => passkey.authenticate(request)),
      "NotAllowedError"
    )
    const { id } = passkey.register(creation)
    const excludeCredentials = [{ id }]
    assert.strictEqual(
      reasonOf(() => passkey.register({ ...creation, excludeCredentials })),
      "InvalidStateError"
    )
    const pubKeyCredParams = [{ alg: -257 }]
    assert.strictEqual(
      reasonOf(() => passkey.register({ ...creation, pubKeyCredParams })),
      "NotSupportedError"
    )
    const elsewhere = { ...request, rpId: "other.example" }
    assert.strictEqual(
      reasonOf(() => passkey.authenticate(elsewhere)),
      "NotAllowedError"
    )
    const others = { ...request, allowCredentials: [{ id: "AAAA" }] }
    assert.strictEqual(
      reasonOf(() => passkey.authenticate(others)),
      "NotAllowedError"
    )
  })

  it("says why it aborted", () => {
    const passkey = makeSoftwarePasskey({ origin })
    assert.throws(
      () => passkey.authenticate(request),
      "the authenticator has none of the passkeys that may answer (NotAllowedError)"
    )
  })

  it("repeats itself with seeded randomness", () => {
    const seeded = () => {
      let seed = 1
      const random = (count: number) => Uint8Array.from({ length: count }, () => seed++ & 0xff)
      return makeSoftwarePasskey({ origin, random }).register(creation)
    }
    assert.deepStrictEqual(seeded(), seeded())
  })

  it("produces the deviations that a test asks for", () => {
    const passkey = makeSoftwarePasskey({ origin })
    passkey.register(creation)
    const { response, id } = passkey.authenticate(request, {
      flags: 1,
      counter: 9,
      origin: "https://evil.example",
      crossOrigin: true,
      topOrigin: "https://top.example",
      userHandle: null,
      id: "AAAA",
      signature: () => Uint8Array.of(1, 2)
    })
    assert.deepStrictEqual(clientDataOf(response.clientDataJSON), {
      type: "webauthn.get",
      challenge: creation.challenge,
      origin: "https://evil.example",
      crossOrigin: true,
      topOrigin: "https://top.example"
    })
    assert.strictEqual(flagsOf(response.authenticatorData), 1)
    assert.strictEqual(counterOf(response.authenticatorData), 9)
    assert.strictEqual(response.signature, "AQI")
    assert.strictEqual(id, "AAAA")
    assert.isFalse("userHandle" in response)
  })
})
