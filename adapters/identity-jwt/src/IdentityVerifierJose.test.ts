import {
  constants,
  createHmac,
  generateKeyPairSync,
  generatePrimeSync,
  type KeyObject,
  sign as nodeSign
} from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import type { IdentityAlgorithm, IdentitySettings } from "@svc/domain/organization/Organization"
import {
  IdentityAssertionRefused,
  IdentityKeysUnavailable,
  IdentityVerifier
} from "@svc/domain/ports/IdentityVerifier"
import { makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
import { Cause, Effect, Exit } from "effect"
import * as fc from "fast-check"
import { keySetFault } from "./IdentityKey.ts"
import { layer, layerWith } from "./IdentityVerifierJose.ts"

const NOW_SECONDS = 1_800_000_000
const SECOND = 1_000_000_000n
const NOW = BigInt(NOW_SECONDS) * SECOND
const ISSUER = "https://issuer.example"
const AUDIENCE = "https://svc.example"
const KID = "k1"

interface TestKey {
  readonly algorithm: IdentityAlgorithm
  readonly privateKey: KeyObject
  readonly jwk: Readonly<Record<string, unknown>>
}

const makeKey = (algorithm: IdentityAlgorithm, bits = 2048): TestKey => {
  const { privateKey, publicKey } =
    algorithm === "ES256"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : algorithm === "EdDSA"
        ? generateKeyPairSync("ed25519")
        : generateKeyPairSync("rsa", { modulusLength: bits })
  return { algorithm, privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid: KID } }
}

const signBytes = ({ algorithm, privateKey: key }: TestKey, data: Uint8Array): Buffer => {
  switch (algorithm) {
    case "ES256":
      return nodeSign("sha256", data, { key, dsaEncoding: "ieee-p1363" })
    case "EdDSA":
      return nodeSign(null, data, key)
    case "PS256":
      return nodeSign("sha256", data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 })
    case "RS256":
      return nodeSign("sha256", data, { key, padding: constants.RSA_PKCS1_PADDING })
  }
}

const KEYS = {
  ES256: makeKey("ES256"),
  EdDSA: makeKey("EdDSA"),
  PS256: makeKey("PS256"),
  RS256: makeKey("RS256")
} as const
const ALGORITHMS = ["ES256", "EdDSA", "PS256", "RS256"] as const

const settingsOf = (
  keys: ReadonlyArray<object>,
  algorithms: ReadonlyArray<IdentityAlgorithm> = ["ES256"]
): IdentitySettings => ({ issuer: ISSUER, audience: AUDIENCE, algorithms, keys: { jwks: { keys } } })

const es256 = settingsOf([KEYS.ES256.jwk])

const segment = (part: string | object | Uint8Array): string =>
  Buffer.from(typeof part === "string" || part instanceof Uint8Array ? part : JSON.stringify(part)).toString(
    "base64url"
  )

/** Signs any header and payload, as text or as JSON. */
const forge = (header: string | object, payload: string | object | Uint8Array, key: TestKey = KEYS.ES256) => {
  const input = `${segment(header)}.${segment(payload)}`
  return `${input}.${signBytes(key, Buffer.from(input)).toString("base64url")}`
}

const honestHeader = { alg: "ES256", kid: KID }
const honestClaims = {
  iss: ISSUER,
  sub: "user_8f2",
  aud: AUDIENCE,
  iat: NOW_SECONDS,
  exp: NOW_SECONDS + 300,
  jti: "j1"
}
const without = (name: string) =>
  Object.fromEntries(Object.entries(honestClaims).filter(([key]) => key !== name))
/** The claims as text, with one member written as given: what no JSON writer would write. */
const written = (name: string, value: string) => {
  const rest = JSON.stringify(without(name))
  return `${rest.slice(0, -1)},"${name}":${value}}`
}

const verify = (assertion: string, settings: IdentitySettings = es256, now = NOW, verifier = layer) =>
  IdentityVerifier.use((service) => service.verify({ organization: "org_1", assertion, settings, now })).pipe(
    Effect.provide(verifier)
  )

const answerOf = (effect: ReturnType<typeof verify>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    if (Exit.isSuccess(exit)) return "accepted"
    const error = Cause.squash(exit.cause)
    return error instanceof IdentityAssertionRefused ? error.reason : `not a refusal: ${String(error)}`
  })

const expectAnswer = (expected: string, assertion: string, settings = es256, now = NOW) =>
  Effect.map(answerOf(verify(assertion, settings, now)), (answer) => assert.strictEqual(answer, expected))

describe("keySetFault", () => {
  const { jwk } = KEYS.ES256
  const rsa = KEYS.RS256.jwk
  const prime = generatePrimeSync(2048, { bigint: true }).toString(16)
  const cases: ReadonlyArray<
    readonly [name: string, keys: ReadonlyArray<unknown>, fault: string | undefined]
  > = [
    ["public keys", [jwk, { ...rsa, kid: "r" }], undefined],
    ["a key for something else beside it", [jwk, { kty: "EC", crv: "P-384", kid: "o" }], undefined],
    [
      "keys without names",
      [
        { ...jwk, kid: undefined },
        { ...rsa, kid: undefined }
      ],
      undefined
    ],
    ["no key", [], "no key is for ES256 or RS256"],
    ["none for the algorithms", [KEYS.EdDSA.jwk], "no key is for ES256 or RS256"],
    ["one for encryption", [{ ...jwk, use: "enc" }], "no key is for ES256 or RS256"],
    ["what is no object", [null], "key 1 is no object"],
    ["a private key", [{ ...jwk, d: "AA" }], 'the key "k1" has members that only its owner may have'],
    ["a name twice", [jwk, rsa], 'the key "k1" is there twice'],
    [
      "a short RSA key",
      [jwk, { ...makeKey("RS256", 1024).jwk, kid: undefined }],
      "key 2 has a modulus of less"
    ],
    ["an exponent of 1", [{ ...rsa, e: "AQ" }], 'the key "k1" has a public exponent'],
    ["an even exponent", [{ ...rsa, e: "AQAA" }], 'the key "k1" has a public exponent'],
    ["padding", [{ ...rsa, e: "AQ==" }], 'the key "k1" has a modulus or an exponent that is not base64url'],
    [
      "an even modulus",
      [{ ...rsa, n: `${String(rsa.n).slice(0, -4)}AAAA` }],
      'the key "k1" has a modulus with'
    ],
    [
      "a prime",
      [{ ...rsa, n: segment(Buffer.from(prime, "hex")) }],
      'the key "k1" has a modulus that is a prime'
    ],
    ["a point off the curve", [{ ...jwk, x: jwk.y }], 'the key "k1" is no point of the curve P-256'],
    ["a point missing", [{ kty: "EC", crv: "P-256" }], "key 1 is no point of the curve P-256"],
    [
      "a point of small order",
      [{ kty: "OKP", crv: "Ed25519", x: segment(new Uint8Array(32)), kid: "e" }],
      'the key "e" is no point of Ed25519'
    ]
  ]
  for (const [name, keys, fault] of cases) {
    it.effect(`${name}: ${fault ?? "none"}`, () =>
      Effect.map(keySetFault(keys, ["ES256", "RS256"]), (found) =>
        fault === undefined ? assert.isUndefined(found) : assert.include(found, fault)
      )
    )
  }
})

describe("IdentityVerifierJose", () => {
  for (const algorithm of ALGORITHMS) {
    describe(algorithm, () => {
      const key = KEYS[algorithm]
      const settings = settingsOf([key.jwk], [algorithm])
      const header = { alg: algorithm, kid: KID }

      it.effect("accepts what the organization's key signed", () =>
        Effect.gen(function* () {
          const verified = yield* verify(forge(header, { ...honestClaims, svc_enrol: true }, key), settings)
          assert.deepStrictEqual(verified, {
            issuer: ISSUER,
            subject: "user_8f2",
            jti: "j1",
            expiresAt: NOW + 300n * SECOND,
            enrolmentAllowed: true
          })
        })
      )

      it.effect("accepts it without kid where there is one key", () =>
        expectAnswer("accepted", forge({ alg: algorithm }, honestClaims, key), settings)
      )

      it.effect("refuses it with a changed header, payload or signature", () =>
        Effect.gen(function* () {
          const [head, body, signature] = forge(header, honestClaims, key).split(".") as [
            string,
            string,
            string
          ]
          yield* expectAnswer(
            "signature_invalid",
            [segment({ ...header, typ: "x" }), body, signature].join("."),
            settings
          )
          const other = segment({ ...honestClaims, sub: "user_9" })
          yield* expectAnswer("signature_invalid", [head, other, signature].join("."), settings)
          const flipped = Buffer.from(signature, "base64url")
          flipped[10]! ^= 1
          yield* expectAnswer(
            "signature_invalid",
            [head, body, flipped.toString("base64url")].join("."),
            settings
          )
          const short = Buffer.from(signature, "base64url").subarray(1).toString("base64url")
          yield* expectAnswer("signature_invalid", [head, body, short].join("."), settings)
        })
      )

      it.effect("refuses it where the organization's list has not the algorithm", () =>
        expectAnswer(
          "algorithm_not_allowed",
          forge(header, honestClaims, key),
          settingsOf(
            [key.jwk],
            ALGORITHMS.filter((other) => other !== algorithm)
          )
        )
      )

      it.effect("refuses it by another key of the same kind", () =>
        expectAnswer("signature_invalid", forge(header, honestClaims, makeKey(algorithm)), settings)
      )
    })
  }

  it.effect("accepts what the test issuer makes, and tells who may enrol", () =>
    Effect.gen(function* () {
      const issuer = makeIdentityIssuer({ issuer: ISSUER, audience: AUDIENCE })
      const settings = settingsOf(issuer.publicJwks.keys)
      for (const enrol of [true, false]) {
        const assertion = yield* Effect.promise(() => issuer.assertion({ subject: "u", now: NOW, enrol }))
        const verified = yield* verify(assertion, settings)
        assert.strictEqual(verified.enrolmentAllowed, enrol)
      }
    })
  )

  it.effect("takes svc_enrol only when it is true itself", () =>
    Effect.gen(function* () {
      for (const value of [false, "true", 1, null, [true], {}]) {
        const verified = yield* verify(forge(honestHeader, { ...honestClaims, svc_enrol: value }))
        assert.isFalse(verified.enrolmentAllowed)
      }
    })
  )

  describe("form", () => {
    const honest = forge(honestHeader, honestClaims)
    const [head, body, signature] = honest.split(".") as [string, string, string]
    const cases: ReadonlyArray<readonly [string, string, string]> = [
      ["padding on the header", `${head}=.${body}.${signature}`, "not_compact_jws"],
      ["padding on the payload", `${head}.${body}==.${signature}`, "not_compact_jws"],
      ["padding on the signature", `${honest}==`, "not_compact_jws"],
      ["a space before", ` ${honest}`, "not_compact_jws"],
      ["a line feed after", `${honest}\n`, "not_compact_jws"],
      ["a space within", `${head}.${body.slice(0, 8)} ${body.slice(8)}.${signature}`, "not_compact_jws"],
      ["plus and slash", `${head}.${body}.+/${signature.slice(2)}`, "not_compact_jws"],
      ["loose bits in the signature", `${honest.slice(0, -1)}${nextCharacter(honest)}`, "not_compact_jws"],
      ["two segments", `${head}.${body}`, "not_compact_jws"],
      ["four segments", `${honest}.AAAA`, "not_compact_jws"],
      ["five segments", `${honest}.AAAA.AAAA`, "not_compact_jws"],
      ["an empty signature", `${head}.${body}.`, "not_compact_jws"],
      ["an empty header", `.${body}.${signature}`, "header_malformed"],
      ["a detached payload", `${head}..${signature}`, "signature_invalid"],
      ["nothing", "", "not_compact_jws"],
      ["dots", "..", "not_compact_jws"],
      [
        "a JSON serialization",
        JSON.stringify({ payload: body, protected: head, signature }),
        "not_compact_jws"
      ],
      ["a bearer prefix", `Bearer ${honest}`, "not_compact_jws"],
      ["over 16384 characters", `${honest}${"A".repeat(16_384)}`, "too_long"]
    ]
    for (const [name, assertion, expected] of cases) {
      it.effect(`refuses ${name}`, () => expectAnswer(expected, assertion))
    }
  })

  describe("header", () => {
    const refused: ReadonlyArray<readonly [string, string | object, string]> = [
      ["alg none", { alg: "none", kid: KID }, "algorithm_not_allowed"],
      ["alg NONE", { alg: "NONE", kid: KID }, "algorithm_not_allowed"],
      ["alg in lower case", { alg: "es256", kid: KID }, "algorithm_not_allowed"],
      ["alg ES256K", { alg: "ES256K", kid: KID }, "algorithm_not_allowed"],
      ["alg ES384", { alg: "ES384", kid: KID }, "algorithm_not_allowed"],
      ["alg HS256", { alg: "HS256", kid: KID }, "algorithm_not_allowed"],
      ["alg with a space", { alg: "ES256 ", kid: KID }, "algorithm_not_allowed"],
      ["no alg", { kid: KID }, "algorithm_not_allowed"],
      ["alg null", { alg: null, kid: KID }, "algorithm_not_allowed"],
      ["alg in a list", { alg: ["ES256"], kid: KID }, "algorithm_not_allowed"],
      ["alg constructor", { alg: "constructor", kid: KID }, "algorithm_not_allowed"],
      ["crit", { ...honestHeader, crit: ["x"], x: 1 }, "header_member_refused"],
      ["an empty crit", { ...honestHeader, crit: [] }, "header_member_refused"],
      ["crit exp", { ...honestHeader, crit: ["exp"], exp: 1 }, "header_member_refused"],
      ["b64 false without crit", { ...honestHeader, b64: false }, "header_member_refused"],
      ["b64 false with crit", { ...honestHeader, b64: false, crit: ["b64"] }, "header_member_refused"],
      ["b64 true", { ...honestHeader, b64: true }, "header_member_refused"],
      ["jwk", { ...honestHeader, jwk: KEYS.ES256.jwk }, "header_member_refused"],
      ["jku", { ...honestHeader, jku: "https://evil.example/jwks" }, "header_member_refused"],
      ["x5u", { ...honestHeader, x5u: "https://evil.example/cert" }, "header_member_refused"],
      ["x5c", { ...honestHeader, x5c: [] }, "header_member_refused"],
      ["jwk null", { ...honestHeader, jwk: null }, "header_member_refused"],
      ["a duplicate alg", `{"alg":"none","alg":"ES256","kid":"${KID}"}`, "header_malformed"],
      ["an equal duplicate", `{"alg":"ES256","alg":"ES256","kid":"${KID}"}`, "header_malformed"],
      ["a duplicate by escape", `{"alg":"none","\\u0061lg":"ES256","kid":"${KID}"}`, "header_malformed"],
      ["a byte order mark", `\ufeff{"alg":"ES256","kid":"${KID}"}`, "header_malformed"],
      ["an array", [honestHeader], "header_malformed"],
      ["null", "null", "header_malformed"],
      ["no JSON", "alg=ES256", "header_malformed"],
      ["deep nesting", `{"alg":"ES256","a":${"[".repeat(200)}${"]".repeat(200)}}`, "header_malformed"],
      ["an unknown kid", { alg: "ES256", kid: "k2" }, "key_unknown"],
      ["an empty kid", { alg: "ES256", kid: "" }, "key_unknown"],
      ["kid __proto__", `{"alg":"ES256","kid":"__proto__"}`, "key_unknown"],
      ["kid constructor", { alg: "ES256", kid: "constructor" }, "key_unknown"],
      ["kid in another case", { alg: "ES256", kid: "K1" }, "key_unknown"],
      ["a numeric kid", { alg: "ES256", kid: 1 }, "kid_malformed"],
      ["kid null", { alg: "ES256", kid: null }, "kid_malformed"],
      ["kid in a list", { alg: "ES256", kid: [KID] }, "kid_malformed"],
      ["alg and kid below __proto__", `{"__proto__":{"alg":"ES256","kid":"${KID}"}}`, "algorithm_not_allowed"]
    ]
    for (const [name, header, expected] of refused) {
      it.effect(`refuses ${name}`, () => expectAnswer(expected, forge(header, honestClaims)))
    }

    it.effect("refuses HS256 keyed with the public key, whatever the list says of the rest", () =>
      Effect.gen(function* () {
        const input = `${segment({ alg: "HS256", kid: KID })}.${segment(honestClaims)}`
        for (const secret of [JSON.stringify(KEYS.ES256.jwk), KEYS.ES256.jwk.x as string]) {
          const tag = createHmac("sha256", secret).update(input).digest("base64url")
          const all = settingsOf([KEYS.ES256.jwk], ALGORITHMS)
          yield* expectAnswer("algorithm_not_allowed", `${input}.${tag}`, all)
        }
      })
    )

    it.effect("ignores members that change nothing", () =>
      expectAnswer("accepted", forge({ ...honestHeader, typ: "JWT", cty: "x", x5t: "AA" }, honestClaims))
    )
  })

  describe("keys", () => {
    const { jwk } = KEYS.ES256
    const other = { ...makeKey("ES256").jwk, kid: "k2" }
    const { kid: _, ...nameless } = jwk
    const token = forge(honestHeader, honestClaims)
    const anonymous = forge({ alg: "ES256" }, honestClaims)

    const cases: ReadonlyArray<readonly [string, string, string, ReadonlyArray<object>]> = [
      ["the named one of two", "accepted", token, [other, jwk]],
      ["signed by another key than the kid names", "signature_invalid", token, [{ ...other, kid: KID }]],
      ["a kid that two keys have", "key_ambiguous", token, [jwk, { ...other, kid: KID }]],
      ["a kid that one key has twice", "key_ambiguous", token, [jwk, jwk]],
      ["a kid where the only key has none", "key_unknown", token, [nameless]],
      ["no kid, one key with a kid", "accepted", anonymous, [jwk]],
      ["no kid, one key without", "accepted", anonymous, [nameless]],
      ["no kid, two keys", "key_ambiguous", anonymous, [jwk, other]],
      ["no kid, no key", "key_unknown", anonymous, []],
      ["no key", "key_unknown", token, []],
      ["a kid that is inherited", "key_unknown", token, [Object.create(jwk)]],
      ["a key for encryption", "key_unsuitable", token, [{ ...jwk, use: "enc" }]],
      ["a key for signing", "accepted", token, [{ ...jwk, use: "sig", alg: "ES256", key_ops: ["verify"] }]],
      ["a key of another algorithm", "key_unsuitable", token, [{ ...jwk, alg: "ES384" }]],
      ["a key that may only sign", "key_unsuitable", token, [{ ...jwk, key_ops: ["sign"] }]],
      ["key_ops that is no list", "key_unsuitable", token, [{ ...jwk, key_ops: "verify" }]],
      ["a private key", "key_unsuitable", token, [{ ...jwk, d: "AA" }]],
      ["a symmetric key", "key_unsuitable", token, [{ kty: "oct", k: "AAAA", kid: KID }]],
      ["a symmetric member", "key_unsuitable", token, [{ ...jwk, k: "AAAA" }]],
      ["an RSA key for ES256", "key_unsuitable", token, [KEYS.RS256.jwk]],
      ["an Ed25519 key for ES256", "key_unsuitable", token, [KEYS.EdDSA.jwk]],
      ["another curve", "key_unsuitable", token, [{ ...jwk, crv: "P-384" }]],
      ["a point off the curve", "key_unsuitable", token, [{ ...jwk, x: jwk.y }]],
      ["a coordinate with padding", "key_unsuitable", token, [{ ...jwk, x: `${String(jwk.x)}=` }]],
      ["a coordinate of 33 bytes", "key_unsuitable", token, [{ ...jwk, x: segment(new Uint8Array(33)) }]],
      ["a coordinate missing", "key_unsuitable", token, [{ kty: "EC", crv: "P-256", x: jwk.x, kid: KID }]]
    ]
    for (const [name, expected, assertion, keys] of cases) {
      it.effect(`${name}: ${expected}`, () => expectAnswer(expected, assertion, settingsOf(keys)))
    }

    for (const algorithm of ["RS256", "PS256"] as const) {
      it.effect(`${algorithm} needs a modulus of 2048 bits and an odd exponent of 3 or more`, () =>
        Effect.gen(function* () {
          const header = { alg: algorithm, kid: KID }
          const small = makeKey(algorithm, 1024)
          const settings = settingsOf([small.jwk], [algorithm])
          yield* expectAnswer("key_unsuitable", forge(header, honestClaims, small), settings)
          const padded = segment(new Uint8Array([...new Uint8Array(128), ...bytesOf(small.jwk.n)]))
          const disguised = settingsOf([{ ...small.jwk, n: padded }], [algorithm])
          yield* expectAnswer("key_unsuitable", forge(header, honestClaims, small), disguised)
          for (const e of ["AQ", "Ag", "AA", "", "AQAAAAE"]) {
            const weak = settingsOf([{ ...KEYS[algorithm].jwk, e }], [algorithm])
            yield* expectAnswer("key_unsuitable", forge(header, honestClaims, KEYS[algorithm]), weak)
          }
        })
      )
    }

    it.effect("a weak key of a fetched set serves nobody, the others beside it do", () =>
      Effect.gen(function* () {
        const weak = makeKey("RS256", 1024)
        const good = KEYS.RS256
        const keys = [
          { ...weak.jwk, kid: "weak" },
          { ...good.jwk, kid: "good" }
        ]
        const settings: IdentitySettings = {
          ...settingsOf([], ["RS256"]),
          keys: { jwksUri: "https://issuer.example/keys" }
        }
        const verifier = layerWith({ resolveKeys: () => Effect.succeed({ keys }) })
        const answer = (kid: string, key: TestKey) =>
          answerOf(verify(forge({ alg: "RS256", kid }, honestClaims, key), settings, NOW, verifier))
        assert.strictEqual(yield* answer("weak", weak), "key_unsuitable")
        assert.strictEqual(yield* answer("good", good), "accepted")
      })
    )

    it.effect("an Ed25519 key of small order, under which one signature fits any assertion", () =>
      Effect.gen(function* () {
        // The neutral element: s * B = R + k * A holds for s = 1 and R = B, whatever was signed.
        const neutral = Buffer.from(`01${"00".repeat(31)}`, "hex")
        const base = Buffer.from(`58${"66".repeat(31)}`, "hex")
        const signature = Buffer.concat([base, neutral])
        const input = `${segment({ alg: "EdDSA", kid: KID })}.${segment(honestClaims)}`
        const key = { kty: "OKP", crv: "Ed25519", x: segment(neutral), kid: KID }
        const forged = `${input}.${segment(signature)}`
        yield* expectAnswer("key_unsuitable", forged, settingsOf([key], ["EdDSA"]))
      })
    )

    it.effect("RS256 and PS256 do not stand for each other", () =>
      Effect.gen(function* () {
        const settings = settingsOf([KEYS.RS256.jwk], ["RS256", "PS256"])
        const crossed = forge({ alg: "PS256", kid: KID }, honestClaims, KEYS.RS256)
        yield* expectAnswer("signature_invalid", crossed, settings)
        const fixed = settingsOf([{ ...KEYS.RS256.jwk, alg: "RS256" }], ["RS256", "PS256"])
        yield* expectAnswer("key_unsuitable", crossed, fixed)
      })
    )

    it.effect("a key set that changes with the settings", () =>
      Effect.gen(function* () {
        yield* expectAnswer("accepted", token, settingsOf([jwk]))
        yield* expectAnswer("accepted", token, settingsOf([jwk]))
        yield* expectAnswer("key_unknown", token, settingsOf([other]))
      })
    )
  })

  describe("claims", () => {
    const long = (count: number) => "\u{1F600}".repeat(count)
    const cases: ReadonlyArray<readonly [string, string, string | object]> = [
      ["iss of another", "issuer_mismatch", { ...honestClaims, iss: `${ISSUER}/` }],
      ["iss missing", "issuer_mismatch", without("iss")],
      ["iss in a list", "issuer_mismatch", { ...honestClaims, iss: [ISSUER] }],
      ["iss in another case", "issuer_mismatch", { ...honestClaims, iss: ISSUER.toUpperCase() }],
      ["aud alone in a list", "accepted", { ...honestClaims, aud: [AUDIENCE] }],
      ["aud among others", "accepted", { ...honestClaims, aud: ["a", AUDIENCE, "b"] }],
      ["aud an empty list", "audience_mismatch", { ...honestClaims, aud: [] }],
      ["aud with more after it", "audience_mismatch", { ...honestClaims, aud: `${AUDIENCE}.evil` }],
      ["aud a prefix", "audience_mismatch", { ...honestClaims, aud: AUDIENCE.slice(0, -1) }],
      ["aud missing", "audience_mismatch", without("aud")],
      ["aud null", "audience_mismatch", { ...honestClaims, aud: null }],
      ["aud with a number beside ours", "audience_mismatch", { ...honestClaims, aud: [AUDIENCE, 1] }],
      ["aud in a nested list", "audience_mismatch", { ...honestClaims, aud: [[AUDIENCE]] }],
      ["aud an object", "audience_mismatch", { ...honestClaims, aud: { 0: AUDIENCE } }],
      ["sub missing", "subject_malformed", without("sub")],
      ["sub empty", "subject_malformed", { ...honestClaims, sub: "" }],
      ["sub a number", "subject_malformed", { ...honestClaims, sub: 1 }],
      ["sub of 255 characters", "accepted", { ...honestClaims, sub: long(255) }],
      ["sub of 256 characters", "subject_malformed", { ...honestClaims, sub: long(256) }],
      ["sub with a lone surrogate", "subject_malformed", written("sub", `"\\ud800"`)],
      ["sub with U+0000", "subject_malformed", written("sub", `"a\\u0000"`)],
      ["jti missing", "jti_malformed", without("jti")],
      ["jti empty", "jti_malformed", { ...honestClaims, jti: "" }],
      ["jti a number", "jti_malformed", { ...honestClaims, jti: 7 }],
      ["jti null", "jti_malformed", { ...honestClaims, jti: null }],
      ["jti of 255 characters", "accepted", { ...honestClaims, jti: long(255) }],
      ["jti of 256 characters", "jti_malformed", { ...honestClaims, jti: long(256) }],
      ["jti with a lone surrogate", "jti_malformed", written("jti", `"\\udc00"`)],
      ["exp missing", "time_malformed", without("exp")],
      ["exp a string", "time_malformed", { ...honestClaims, exp: String(NOW_SECONDS + 60) }],
      ["exp null", "time_malformed", { ...honestClaims, exp: null }],
      ["exp true", "time_malformed", { ...honestClaims, exp: true }],
      ["exp a list", "time_malformed", { ...honestClaims, exp: [NOW_SECONDS + 60] }],
      ["exp 1e400", "payload_malformed", written("exp", "1e400")],
      ["exp 1e15", "time_malformed", written("exp", "1e15")],
      ["exp beyond 2^53", "payload_malformed", written("exp", "9007199254740993")],
      ["exp negative", "time_malformed", { ...honestClaims, exp: -1 }],
      ["exp a day away", "lifetime_out_of_bounds", { ...honestClaims, exp: NOW_SECONDS + 86_400 }],
      ["exp 301 s after iat", "lifetime_out_of_bounds", { ...honestClaims, exp: NOW_SECONDS + 301 }],
      [
        "exp a little over 300 s after iat",
        "lifetime_out_of_bounds",
        written("exp", `${NOW_SECONDS + 300}.001`)
      ],
      ["exp equal to iat", "lifetime_out_of_bounds", { ...honestClaims, exp: NOW_SECONDS }],
      ["exp before iat", "lifetime_out_of_bounds", { ...honestClaims, exp: NOW_SECONDS - 1 }],
      ["exp as 1.8e9 and a bit", "accepted", written("exp", "1.80000006e9")],
      ["exp with a fraction", "accepted", written("exp", `${NOW_SECONDS + 299}.999`)],
      ["iat missing", "time_malformed", without("iat")],
      ["iat a string", "time_malformed", { ...honestClaims, iat: "now" }],
      ["iat null", "time_malformed", { ...honestClaims, iat: null }],
      ["iat in a second", "accepted", { ...honestClaims, iat: NOW_SECONDS + 1 }],
      ["iat in 30 s", "accepted", { ...honestClaims, iat: NOW_SECONDS + 30 }],
      ["iat in 31 s", "issued_in_the_future", { ...honestClaims, iat: NOW_SECONDS + 31 }],
      ["iat a little over 30 s ahead", "issued_in_the_future", written("iat", `${NOW_SECONDS + 30}.000001`)],
      [
        "iat in 600 s",
        "issued_in_the_future",
        { ...honestClaims, iat: NOW_SECONDS + 600, exp: NOW_SECONDS + 660 }
      ],
      ["nbf now", "accepted", { ...honestClaims, nbf: NOW_SECONDS }],
      ["nbf in 30 s", "accepted", { ...honestClaims, nbf: NOW_SECONDS + 30 }],
      ["nbf in 31 s", "not_yet_valid", { ...honestClaims, nbf: NOW_SECONDS + 31 }],
      ["nbf a string", "time_malformed", { ...honestClaims, nbf: "0" }],
      ["nbf null", "time_malformed", { ...honestClaims, nbf: null }],
      ["a repeated sub", "payload_malformed", `${JSON.stringify(honestClaims).slice(0, -1)},"sub":"other"}`],
      ["a repeated member deep within", "payload_malformed", written("x", `{"a":1,"a":1}`)],
      ["other claims", "accepted", { ...honestClaims, name: { a: [1, null] }, nonce: "x" }],
      ["claims below __proto__", "issuer_mismatch", `{"__proto__":${JSON.stringify(honestClaims)}}`],
      ["an array", "payload_malformed", [honestClaims]],
      ["a string", "payload_malformed", JSON.stringify("sub")],
      ["no JSON", "payload_malformed", "sub=user_8f2"],
      ["nothing", "payload_malformed", ""],
      ["a byte order mark", "payload_malformed", `\ufeff${JSON.stringify(honestClaims)}`],
      ["bytes that are not UTF-8", "payload_malformed", Uint8Array.of(0x7b, 0xff, 0x7d)]
    ]
    for (const [name, expected, claims] of cases) {
      it.effect(`${name}: ${expected}`, () => expectAnswer(expected, forge(honestHeader, claims)))
    }

    it.effect("takes the time from its input, to the nanosecond", () =>
      Effect.gen(function* () {
        const token = forge(honestHeader, { ...honestClaims, exp: NOW_SECONDS + 60 })
        const expiry = NOW + 60n * SECOND
        yield* expectAnswer("accepted", token, es256, expiry + 29n * SECOND)
        yield* expectAnswer("accepted", token, es256, expiry + 30n * SECOND - 1n)
        yield* expectAnswer("expired", token, es256, expiry + 30n * SECOND)
        yield* expectAnswer("expired", token, es256, expiry + 31n * SECOND)
        yield* expectAnswer("accepted", token, es256, NOW - 30n * SECOND)
        yield* expectAnswer("issued_in_the_future", token, es256, NOW - 30n * SECOND - 1n)
        const { expiresAt } = yield* verify(token)
        assert.strictEqual(expiresAt, expiry)
      })
    )

    it.effect("looks at the signature before the claims", () =>
      expectAnswer("signature_invalid", forge(honestHeader, without("exp"), makeKey("ES256")))
    )
  })

  describe("keys at an address", () => {
    const jwksUri = "https://issuer.example/jwks"
    const remote: IdentitySettings = { ...es256, keys: { jwksUri } }
    const token = forge(honestHeader, honestClaims)

    it.effect("are refused without a resolver", () => expectAnswer("keys_unavailable", token, remote))

    it.effect("come from the resolver, which is told the kid", () =>
      Effect.gen(function* () {
        const asked: Array<unknown> = []
        const resolver = layerWith({
          resolveKeys: (request) => {
            asked.push(request)
            return Effect.succeed({ keys: [KEYS.ES256.jwk] })
          }
        })
        assert.strictEqual(yield* answerOf(verify(token, remote, NOW, resolver)), "accepted")
        assert.deepStrictEqual(asked, [{ organization: "org_1", jwksUri, kid: KID }])
      })
    )

    it.effect("are unavailable when the resolver says so, and are not asked for a malformed one", () =>
      Effect.gen(function* () {
        let asked = 0
        const resolver = layerWith({
          resolveKeys: () => {
            asked += 1
            return Effect.fail(new IdentityKeysUnavailable({ cause: "unreachable", retryAfterSeconds: 5 }))
          }
        })
        assert.instanceOf(yield* Effect.flip(verify(token, remote, NOW, resolver)), IdentityKeysUnavailable)
        yield* answerOf(verify(forge({ alg: "none" }, honestClaims), remote, NOW, resolver))
        yield* answerOf(verify("x", remote, NOW, resolver))
        assert.strictEqual(asked, 1)
      })
    )
  })

  it.effect("quotes nothing of the assertion in the refusal", () =>
    Effect.gen(function* () {
      const secret = "canary_subject"
      for (const claims of [
        { ...honestClaims, sub: secret, exp: 1 },
        written("sub", `"${secret}","sub":1`)
      ]) {
        const error = yield* Effect.flip(verify(forge(honestHeader, claims)))
        assert.notInclude(JSON.stringify({ ...error, message: error.message }), "canary")
      }
    })
  )

  it("never breaks, whatever the text is", async () => {
    const honest = forge(honestHeader, honestClaims)
    const mutated = fc
      .tuple(fc.nat(honest.length), fc.string({ maxLength: 3 }), fc.nat(3))
      .map(([at, insert, drop]) => honest.slice(0, at) + insert + honest.slice(at + drop))
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), mutated), async (text) => {
        const answer = await Effect.runPromise(answerOf(verify(text)))
        if (text !== honest) assert.notStrictEqual(answer, "accepted")
        assert.notMatch(answer, /not a refusal/)
      }),
      { numRuns: 300 }
    )
  })
})

function nextCharacter(text: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  return alphabet[alphabet.indexOf(text.at(-1)!) + 1]!
}

function bytesOf(text: unknown): Uint8Array {
  return new Uint8Array(Buffer.from(String(text), "base64url"))
}
