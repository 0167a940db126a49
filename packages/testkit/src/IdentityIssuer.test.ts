import { assert, describe, it } from "@effect/vitest"
import { jwkThumbprint } from "@svc/protocol/evidence/JwkThumbprint"
import { createLocalJWKSet, jwtVerify } from "jose"
import { makeIdentityIssuer } from "./IdentityIssuer.ts"

const NOW = 1_800_000_000n
const options = { issuer: "https://issuer.example", audience: "svc" }
const at = { now: NOW * 1_000_000_000n + 999n, subject: "user_1" }

const verify = (issuer: ReturnType<typeof makeIdentityIssuer>, token: string) =>
  jwtVerify(token, createLocalJWKSet({ keys: issuer.publicJwks.keys.map((key) => ({ ...key })) }), {
    ...options,
    currentDate: new Date(Number(NOW) * 1000)
  })

describe("makeIdentityIssuer", () => {
  it("makes assertions that verify under its public keys", async () => {
    const issuer = makeIdentityIssuer(options)
    const { payload, protectedHeader } = await verify(issuer, await issuer.assertion({ ...at, enrol: true }))
    assert.strictEqual(protectedHeader.kid, jwkThumbprint(issuer.privateJwk))
    assert.strictEqual(payload.sub, "user_1")
    assert.deepStrictEqual([payload.iat, payload.exp], [Number(NOW), Number(NOW) + 300])
    assert.strictEqual(payload.svc_enrol, true)
    assert.isFalse("d" in issuer.publicJwks.keys[0]!)
  })

  it("never repeats a jti by itself", async () => {
    const issuer = makeIdentityIssuer(options)
    const [one, two] = [await issuer.assertion(at), await issuer.assertion(at)]
    assert.notStrictEqual((await verify(issuer, one)).payload.jti, (await verify(issuer, two)).payload.jti)
  })

  it("goes on with a key that it was given, with or without a kid", async () => {
    const { privateJwk } = makeIdentityIssuer(options)
    const { kid: _, ...nameless } = privateJwk
    for (const given of [privateJwk, nameless]) {
      const again = makeIdentityIssuer({ ...options, privateJwk: given })
      assert.deepStrictEqual(again.privateJwk, privateJwk)
      await verify(again, await again.assertion(at))
    }
  })

  it("replaces and takes away members of header and claims", async () => {
    const issuer = makeIdentityIssuer(options)
    const overrides = { header: { kid: undefined, typ: "x" }, claims: { jti: undefined, sub: 7 } }
    const [header, claims] = (await issuer.assertion({ ...at, overrides }))
      .split(".")
      .map((part) => Buffer.from(part, "base64url").toString())
    assert.deepStrictEqual(JSON.parse(header!), { alg: "ES256", typ: "x" })
    assert.deepStrictEqual(Object.keys(JSON.parse(claims!)).sort(), ["aud", "exp", "iat", "iss", "sub"])
  })
})
