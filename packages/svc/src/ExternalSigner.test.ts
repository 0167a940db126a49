import { generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { preparedPglite } from "@svc/store-postgres/test/PreparedPglite"
import { Effect, Exit, Scope } from "effect"
import { afterAll } from "vitest"
import { makeShop, newMandate } from "../test/Shop.ts"
import {
  createService,
  type ExternalSigner,
  type ServiceOptions,
  SvcError,
  signatureFromDer
} from "./index.ts"
import { pglite } from "./pglite.ts"

const folders = Effect.runSync(Scope.make())

afterAll(() => Effect.runPromise(Scope.close(folders, Exit.void)))

interface Kms {
  readonly publicJwk: ExternalSigner["publicJwk"]
  readonly privateKey: KeyObject
}

/** A KMS with one key. */
const makeKms = (): Kms => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  return { privateKey, publicJwk: publicKey.export({ format: "jwk" }) }
}

/** Signs as a KMS does that gives DER. */
const derOf = ({ privateKey: key }: Kms, data: Uint8Array): Uint8Array => sign("sha256", data, key)

const signerOf = (kms: Kms, more: Partial<ExternalSigner> = {}): ExternalSigner => ({
  publicJwk: kms.publicJwk,
  sign: async ({ data }) => signatureFromDer(derOf(kms, data)),
  ...more
})

const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "done",
    (error: unknown) => error
  )

const openWith = (signer: ExternalSigner | undefined, options: Partial<ServiceOptions> = {}) => {
  const logged: Array<string> = []
  const shop = makeShop({
    ...(signer === undefined ? {} : { signer }),
    logger: ({ message }) => logged.push(message),
    ...options
  })
  const service = createService(shop.serviceOptions)
  return { service, face: service.forOrganization(shop.id), logged }
}

const kidOf = (evidence: { readonly protected: string }): string =>
  JSON.parse(Buffer.from(evidence.protected, "base64url").toString()).kid

const publishedBy = async (service: { readonly fetch: (request: Request) => Promise<Response> }) => {
  const answer = await service.fetch(new Request("http://localhost:3000/mandates/.well-known/jwks.json"))
  const { keys } = (await answer.json()) as { keys: ReadonlyArray<Record<string, unknown>> }
  return keys
}

describe("a signer of the host", () => {
  it("signs evidence with its key, which is published without what it does not need", async () => {
    const kms = makeKms()
    const digests: Array<number> = []
    const { face, service } = openWith(
      signerOf(kms, {
        sign: async ({ data, digest }) => {
          digests.push(digest.length)
          return signatureFromDer(derOf(kms, data))
        }
      })
    )
    const { id } = await face.mandates.create(newMandate("user"))
    for (let round = 0; round < 20; round++) {
      const payload = await service.verifyEvidence(await face.mandates.evidence(id))
      assert.strictEqual((payload.mandate as { readonly id: string }).id, id)
    }
    assert.isTrue(digests.every((length) => length === 32))
    const [key, ...others] = await publishedBy(service)
    assert.deepStrictEqual(others, [])
    assert.sameMembers(Object.keys(key ?? {}), ["kty", "crv", "use", "alg", "kid", "x", "y"])
    assert.strictEqual(key?.kid, kidOf(await face.mandates.evidence(id)))
    await service.close()
  })

  it("takes turns with others: what earlier keys signed verifies while they are published", async () => {
    const [before, now, next] = [makeKms(), makeKms(), makeKms()]
    const first = openWith(signerOf(before))
    const { id } = await first.face.mandates.create(newMandate("user"))
    const old = await first.face.mandates.evidence(id)
    const published = [before.publicJwk, next.publicJwk]
    const second = openWith(signerOf(now, { published }))
    assert.strictEqual((await publishedBy(second.service)).length, 3)
    await second.service.verifyEvidence(old)
    const third = openWith(signerOf(now))
    assert.instanceOf(await refusalOf(third.service.verifyEvidence(old)), TypeError)
    for (const { service } of [first, second, third]) await service.close()
  })

  it("makes no signing key in the store, and leaves those published that were there", async () => {
    const folder = await Effect.runPromise(Scope.provide(preparedPglite, folders))
    const options = () => ({ store: pglite({ folder }), masterKey: new Uint8Array(32) })
    const kms = makeKms()
    const signed = openWith(signerOf(kms), options())
    assert.lengthOf(await publishedBy(signed.service), 1)
    await signed.service.close()
    const stored = openWith(undefined, options())
    const { id } = await stored.face.mandates.create(newMandate("user"))
    const old = await stored.face.mandates.evidence(id)
    await stored.service.close()
    // Another master key would not open the stored signing key, and need not.
    const again = openWith(signerOf(kms), { ...options(), masterKey: new Uint8Array(32).fill(1) })
    assert.lengthOf(await publishedBy(again.service), 2)
    await again.service.verifyEvidence(old)
    await again.service.close()
  })

  const kms = makeKms()
  const flipped = (signature: Uint8Array): Uint8Array => {
    signature[40]! ^= 1
    return signature
  }
  const FAULTY: ReadonlyArray<readonly [string, ExternalSigner["sign"], RegExp]> = [
    ["DER", async ({ data }) => derOf(kms, data), /looks like DER, which signatureFromDer converts/u],
    ["no bytes", async () => undefined as unknown as Uint8Array, /not a Uint8Array/u],
    ["too few bytes", async ({ data }) => signatureFromDer(derOf(kms, data)).slice(1), /63 bytes, not 64/u],
    ["zeros", async () => new Uint8Array(64), /does not verify/u],
    [
      "the signature of another key",
      async ({ data }) => signatureFromDer(derOf(makeKms(), data)),
      /does not verify/u
    ],
    [
      "the signature of other bytes",
      async () => signatureFromDer(derOf(kms, new Uint8Array(8))),
      /does not verify/u
    ],
    [
      "the signature of a digest of the digest",
      async ({ digest }) => signatureFromDer(derOf(kms, digest)),
      /does not verify/u
    ],
    [
      "a changed signature",
      async ({ data }) => flipped(signatureFromDer(derOf(kms, data))),
      /does not verify/u
    ],
    [
      "the signature of data that it has changed",
      async ({ data }) => signatureFromDer(derOf(kms, data.fill(0))),
      /does not verify/u
    ]
  ]

  for (const [what, faulty, message] of FAULTY) {
    it(`gives no evidence with ${what}, and does not open with it`, async () => {
      const closed = openWith(signerOf(kms, { sign: faulty }))
      assert.match(String(await refusalOf(closed.service.ready())), message)
      await closed.service.close()

      let isFaulty = false
      const working = signerOf(kms)
      const { face, logged, service } = openWith({
        ...working,
        sign: (request) => (isFaulty ? faulty(request) : working.sign(request))
      })
      const { id } = await face.mandates.create(newMandate("user"))
      isFaulty = true
      const refused = await refusalOf(face.mandates.evidence(id))
      assert.instanceOf(refused, SvcError)
      assert.deepInclude(refused, { code: "store_unavailable", retryable: true })
      assert.match(logged.join("\n"), message)
      isFaulty = false
      await service.verifyEvidence(await face.mandates.evidence(id))
      await service.close()
    })
  }

  it("that does not answer costs evidence alone", async () => {
    const down = async () => {
      throw new Error("the KMS is down")
    }
    const { face, logged, service } = openWith(signerOf(kms, { sign: down }))
    await service.ready()
    assert.match(logged.join("\n"), /the signer does not answer/u)
    const { id } = await face.mandates.create(newMandate("user"))
    const refused = await refusalOf(face.mandates.evidence(id))
    assert.deepInclude(refused, { code: "store_unavailable" })
    assert.notInclude(String(refused), "KMS")
    assert.strictEqual((await face.mandates.get(id)).id, id)
    await service.close()
  })
})
