import { assert, describe, it } from "@effect/vitest"
import { p256 } from "@noble/curves/nist.js"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import { byteVectors } from "../../test/ByteVectors.ts"
import { encodeBase64Url } from "../Base64Url.ts"
import {
  EvidenceEnvelope,
  evidenceSigningInput,
  verifyEvidence,
  verifyEvidenceBytes,
  verifyEvidenceContinuation
} from "./EvidenceEnvelope.ts"
import { jwkThumbprint } from "./JwkThumbprint.ts"
import { publicKeyToJwk } from "./KeySet.ts"
import {
  CONTINUATION_FORMAT,
  MAX_EVIDENCE_DEPTH,
  MAX_EVIDENCE_PAYLOAD_BYTES,
  MAX_PROTECTED_CHARACTERS
} from "./ReadEnvelope.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)
const part = (value: unknown) => encodeBase64Url(utf8(JSON.stringify(value)))

const secretKey = new Uint8Array(32).fill(5)
const point = p256.getPublicKey(secretKey, false)
const key = publicKeyToJwk(point)
const keySet = { keys: [key] }
const PAYLOAD = { schema: "svc.evidence.v1", events: [] }

const sign = (protectedHeader: string, payload: string) => ({
  format: "svc.evidence.v1",
  protected: protectedHeader,
  payload,
  signature: encodeBase64Url(p256.sign(utf8(`${protectedHeader}.${payload}`), secretKey))
})
const withHeader = (header: unknown) => sign(part(header), part(PAYLOAD))
const withPayload = (text: string) => sign(part({ alg: "ES256", kid: key.kid }), encodeBase64Url(utf8(text)))
const envelope = withPayload(JSON.stringify(PAYLOAD))

const outcome = (candidate: unknown, keys: unknown = keySet) => {
  const result = verifyEvidence(candidate, keys)
  return Result.isFailure(result) ? result.failure.reason : "verified"
}

describe("the evidence vectors (part 7)", () => {
  const { key_set, valid } = byteVectors.evidence

  it.each(valid)("verify: $signature", (vector) => {
    const { payload, payloadText, kid } = Result.getOrThrow(verifyEvidence(vector, key_set))
    assert.strictEqual(kid, key_set.keys[0]!.kid)
    assert.strictEqual(payload.schema, "svc.evidence.v1")
    assert.deepStrictEqual(JSON.parse(payloadText), payload)
    assert.isTrue(Schema.is(EvidenceEnvelope)(vector))
    assert.strictEqual(encodeBase64Url(utf8(payloadText)), vector.payload)
    const input = evidenceSigningInput({ kid, payload: vector.payload })
    assert.strictEqual(input.protected, vector.protected)
    assert.deepStrictEqual(input.bytes, utf8(`${vector.protected}.${vector.payload}`))
  })

  it("include both s and n - s for one payload", () => {
    assert.strictEqual(valid[0]!.payload, valid[1]!.payload)
    assert.notStrictEqual(valid[0]!.signature, valid[1]!.signature)
  })
})

describe("an evidence envelope (part 7)", () => {
  it("verifies as it was issued", () => assert.strictEqual(outcome(envelope), "verified"))

  it.each([null, undefined, 1, "text", [], [envelope], {}, JSON.stringify(envelope), () => envelope])(
    "is refused when it is %j",
    (candidate) => assert.strictEqual(outcome(candidate), "envelope_malformed")
  )

  it("has exactly four members, all text", () => {
    for (const name of Object.keys(envelope)) {
      const { [name as "format"]: _, ...without } = envelope
      assert.strictEqual(outcome(without), "envelope_malformed")
      for (const value of [null, 1, {}, [], new String("x")]) {
        assert.strictEqual(outcome({ ...envelope, [name]: value }), "envelope_malformed")
      }
    }
    const extras = [
      { header: { alg: "ES256" } },
      { header: undefined },
      { signatures: [] },
      { [Symbol("extra")]: 1 },
      JSON.parse('{"__proto__":{}}') as object
    ]
    for (const extra of extras) assert.strictEqual(outcome({ ...envelope, ...extra }), "envelope_malformed")
  })

  it("may not have a member from a prototype only", () => {
    const { signature, ...own } = envelope
    assert.strictEqual(outcome(Object.assign(Object.create({ signature }), own)), "envelope_malformed")
    assert.strictEqual(outcome(Object.create(envelope)), "envelope_malformed")
  })

  it("has a schema of base64url without padding", () => {
    for (const text of ["+", "A", "AA==", "AB", " "]) {
      assert.isFalse(Schema.is(EvidenceEnvelope)({ ...envelope, signature: text }), text)
    }
  })

  it("has the one known format", () => {
    for (const format of ["svc.evidence.v2", "SVC.EVIDENCE.V1", "svc.evidence.v1 ", ""]) {
      assert.strictEqual(outcome({ ...envelope, format }), "format_unsupported")
    }
  })

  it("is read once: a getter cannot show another payload after the check", () => {
    const forged = part({ schema: "svc.evidence.v1", forged: true })
    let reads = 0
    const shifty = {
      ...envelope,
      get payload() {
        return reads++ === 0 ? envelope.payload : forged
      }
    }
    const { payload } = Result.getOrThrow(verifyEvidence(shifty, keySet))
    assert.strictEqual(reads, 1)
    assert.deepStrictEqual(payload, PAYLOAD)
  })

  it("is refused when reading it throws", () => {
    const throwing = new Proxy(envelope, {
      get: () => {
        throw new Error("no")
      }
    })
    assert.strictEqual(outcome(throwing), "envelope_malformed")
    assert.strictEqual(
      outcome(envelope, new Proxy(keySet, { ownKeys: () => assert.fail() })),
      "key_set_malformed"
    )
  })
})

describe("the protected header of evidence (part 7)", () => {
  it.each(["none", "HS256", "ES256K", "es256", "ES384", "EdDSA", ""])("is refused with alg %s", (alg) => {
    assert.strictEqual(outcome(withHeader({ alg, kid: key.kid })), "algorithm_unsupported")
  })

  it("is refused with HS256 keyed with the public key", () => {
    const header = part({ alg: "HS256", kid: key.kid })
    const payload = part(PAYLOAD)
    for (const secret of [point, utf8(JSON.stringify(key))]) {
      const signature = encodeBase64Url(hmac(sha256, secret, utf8(`${header}.${payload}`)))
      const forged = { format: "svc.evidence.v1", protected: header, payload, signature }
      assert.strictEqual(outcome(forged), "algorithm_unsupported")
    }
  })

  it.each([
    { jwk: key },
    { jku: "https://example.com/jwks.json" },
    { x5u: "https://example.com/x5u" },
    { x5c: [] },
    { crit: [] },
    { crit: ["x"], x: 1 },
    { crit: ["b64"], b64: false },
    { b64: false },
    { b64: true },
    { typ: "JOSE" }
  ])("refuses a further member %j", (extra) => {
    assert.strictEqual(outcome(withHeader({ alg: "ES256", kid: key.kid, ...extra })), "protected_malformed")
  })

  it.each([{}, { alg: "ES256" }, { kid: key.kid }, [], null, "ES256", { alg: ["ES256"], kid: key.kid }])(
    "refuses %j",
    (header) => assert.strictEqual(outcome(withHeader(header)), "protected_malformed")
  )

  it.each([
    `{"alg":"ES256","kid":"${key.kid}","kid":"${key.kid}"}`,
    `{"alg":"none","alg":"ES256","kid":"${key.kid}"}`,
    `\ufeff{"alg":"ES256","kid":"${key.kid}"}`,
    `{"alg":"ES256","kid":"${key.kid}"}{}`
  ])("is strict JSON: %s", (text) => {
    const header = encodeBase64Url(utf8(text))
    assert.strictEqual(outcome(sign(header, part(PAYLOAD))), "protected_malformed")
  })

  it.each([1, null, {}, [key.kid]])("is refused with kid %j", (kid) => {
    assert.strictEqual(outcome(withHeader({ alg: "ES256", kid })), "protected_malformed")
  })

  it.each([
    `{"alg":"none","alg":"ES256","kid":"${key.kid}"}`,
    `{"alg":"ES256","kid":"${key.kid}","kid":"${key.kid}"}`,
    `{"alg":"ES256","kid":"${key.kid}","\\u006bid":"${key.kid}"}`,
    `\ufeff{"alg":"ES256","kid":"${key.kid}"}`,
    `{"alg":"ES256","kid":"${key.kid}"} x`,
    ""
  ])("refuses the text %j", (text) => {
    const candidate = sign(encodeBase64Url(utf8(text)), part(PAYLOAD))
    assert.strictEqual(outcome(candidate), "protected_malformed")
  })

  it("is refused in another base64url form", () => {
    const { protected: header } = envelope
    for (const text of [
      `${header}=`,
      `${header}\n`,
      ` ${header}`,
      header.replace(/.$/u, "+"),
      `${header}A`.slice(1)
    ]) {
      assert.strictEqual(outcome({ ...envelope, protected: text }), "protected_malformed")
    }
  })

  it("is looked at up to 4096 characters", () => {
    const ofBytes = (bytes: number) => {
      const rest = JSON.stringify({ alg: "ES256", kid: "" }).length
      return { ...envelope, protected: part({ alg: "ES256", kid: "k".repeat(bytes - rest) }) }
    }
    assert.lengthOf(ofBytes(3072).protected, MAX_PROTECTED_CHARACTERS)
    assert.strictEqual(outcome(ofBytes(3072)), "key_unknown")
    assert.strictEqual(outcome(ofBytes(3073)), "protected_malformed")
  })
})

describe("the key set that evidence is verified with (part 7)", () => {
  const other = publicKeyToJwk(p256.getPublicKey(new Uint8Array(32).fill(6), false))

  it.each([null, 1, "x", [], [key], {}, { keys: null }, { keys: undefined }, { keys: {} }, { keys: "x" }])(
    "is malformed when it is %j",
    (keys) => assert.strictEqual(outcome(envelope, keys), "key_set_malformed")
  )

  it("must hold the kid exactly once", () => {
    assert.strictEqual(outcome(envelope, { keys: [] }), "key_unknown")
    assert.strictEqual(outcome(envelope, { keys: [other] }), "key_unknown")
    assert.strictEqual(outcome(envelope, { keys: [{ ...key, kid: key.kid.toLowerCase() }] }), "key_unknown")
    assert.strictEqual(outcome(envelope, { keys: [key, key] }), "key_duplicated")
    assert.strictEqual(outcome(envelope, { keys: [key, { kid: key.kid, kty: "RSA" }] }), "key_duplicated")
  })

  it("may hold other keys, even of an unknown form", () => {
    const keys = [other, null, 1, "x", { kid: 1 }, { kty: "RSA", kid: "rsa" }, key, { ...other, d: "x" }]
    assert.strictEqual(outcome(envelope, { keys }), "verified")
  })

  it.each(["__proto__", "constructor", "toString", ""])("has no key named %j by accident", (kid) => {
    const candidate = withHeader({ alg: "ES256", kid })
    assert.strictEqual(outcome(candidate), "key_unknown")
    assert.strictEqual(outcome(candidate, { keys: [{ ...key, kid }] }), "key_unsuitable")
    assert.strictEqual(outcome(candidate, { keys: [Object.create({ ...key, kid })] }), "key_unknown")
  })

  it.each([
    { kty: "RSA" },
    { crv: "P-384" },
    { crv: "secp256k1" },
    { use: "enc" },
    { alg: "ES256K" },
    { alg: "HS256" },
    { d: key.x },
    { key_ops: ["verify"] },
    { x: key.y },
    { x: `${key.x}=` },
    { x: key.x.slice(1) },
    { x: `AA${key.x}` },
    { y: 1 },
    { x: encodeBase64Url(new Uint8Array(32)), y: encodeBase64Url(new Uint8Array(32)) },
    { x: encodeBase64Url(new Uint8Array(32).fill(255)) }
  ])("refuses the key changed by %j", (change) => {
    assert.strictEqual(outcome(envelope, { keys: [{ ...key, ...change }] }), "key_unsuitable")
  })

  describe("whose kid is right for it", () => {
    const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, "base64url"))
    const longer = (text: string) => encodeBase64Url(Uint8Array.of(...bytesOf(text), 0))
    const shorter = (text: string) => encodeBase64Url(bytesOf(text).subarray(0, -1))
    const outcomeOf = (change: object) => {
      const changed = { ...key, ...change }
      const renamed = { ...changed, kid: jwkThumbprint(changed) }
      return outcome(withHeader({ alg: "ES256", kid: renamed.kid }), { keys: [renamed] })
    }

    it("verifies", () => assert.strictEqual(outcomeOf({}), "verified"))

    it.each([
      { kty: "RSA" },
      { crv: "P-384" },
      { x: longer(key.x) },
      { y: longer(key.y) },
      { x: shorter(key.x) },
      { y: shorter(key.y) },
      { x: [...key.x] },
      { y: [...key.y] },
      { x: "=" },
      { y: "=" },
      { x: key.y, y: key.x }
    ])("is no key all the same: %j", (change) => assert.strictEqual(outcomeOf(change), "key_unsuitable"))
  })

  it("is refused if the key lacks a member", () => {
    for (const name of ["kty", "crv", "use", "alg", "x", "y"] as const) {
      const { [name]: _, ...without } = key
      assert.strictEqual(outcome(envelope, { keys: [without] }), "key_unsuitable")
    }
  })

  it("does not verify a signature by one key under the kid of another", () => {
    const candidate = withHeader({ alg: "ES256", kid: other.kid })
    assert.strictEqual(outcome(candidate, { keys: [key, other] }), "signature_invalid")
  })

  it("is read once", () => {
    let reads = 0
    const shifty = {
      ...other,
      kid: key.kid,
      get x() {
        return reads++ === 0 ? key.x : other.x
      },
      y: key.y
    }
    assert.strictEqual(outcome(envelope, { keys: [shifty] }), "verified")
    assert.strictEqual(reads, 1)
  })
})

describe("the signature of evidence (part 7)", () => {
  const bytes = new Uint8Array(Buffer.from(envelope.signature, "base64url"))
  const withSignature = (signature: string) => outcome({ ...envelope, signature })

  it("is 64 bytes of strict base64url, r then s", () => {
    const der = p256.sign(utf8(`${envelope.protected}.${envelope.payload}`), secretKey, { format: "der" })
    const malformed = [
      "",
      `${envelope.signature}==`,
      `${envelope.signature}\n`,
      envelope.signature.slice(0, 85).concat("B"),
      encodeBase64Url(bytes.subarray(0, 63)),
      encodeBase64Url(Uint8Array.of(...bytes, 0)),
      encodeBase64Url(Uint8Array.of(0, ...bytes)),
      encodeBase64Url(der)
    ]
    for (const signature of malformed) assert.strictEqual(withSignature(signature), "signature_malformed")
    const invalid = [
      new Uint8Array(64),
      new Uint8Array(64).fill(255),
      Uint8Array.of(...bytes.subarray(32), ...bytes.subarray(0, 32))
    ]
    for (const wrong of invalid)
      assert.strictEqual(withSignature(encodeBase64Url(wrong)), "signature_invalid")
  })

  it("may have r or s with leading zero bytes", () => {
    const isShort = (signature: Uint8Array, at: number) => signature[at] === 0
    const found = { r: false, s: false }
    for (let index = 0; index < 5000 && !(found.r && found.s); index++) {
      const header = part({ alg: "ES256", kid: key.kid })
      const payload = part({ ...PAYLOAD, index })
      const signature = p256.sign(utf8(`${header}.${payload}`), secretKey)
      if (!isShort(signature, 0) && !isShort(signature, 32)) continue
      found.r ||= isShort(signature, 0)
      found.s ||= isShort(signature, 32)
      const candidate = {
        format: "svc.evidence.v1",
        protected: header,
        payload,
        signature: encodeBase64Url(signature)
      }
      assert.strictEqual(outcome(candidate), "verified")
    }
    assert.deepStrictEqual(found, { r: true, s: true })
  })

  it("fails when any bit is flipped anywhere", () => {
    const member = fc.constantFrom("protected", "payload", "signature")
    fc.assert(
      fc.property(member, fc.nat(), fc.nat(7), (name, position, bit) => {
        const changed = Buffer.from(envelope[name as "payload"], "base64url")
        changed[position % changed.length]! ^= 1 << bit
        assert.notStrictEqual(
          outcome({ ...envelope, [name]: encodeBase64Url(new Uint8Array(changed)) }),
          "verified"
        )
      }),
      { numRuns: 200 }
    )
  })
})

describe("an evidence envelope as bytes (part 7)", () => {
  const text = JSON.stringify(envelope)
  const answer = (json: string) => {
    const result = verifyEvidenceBytes(utf8(json), keySet)
    return Result.isFailure(result) ? result.failure.reason : "verified"
  }

  it("verifies whether or not it is canonical", () => {
    assert.strictEqual(answer(text), "verified")
    const { format, payload, protected: header, signature } = envelope
    const reordered = { signature, payload, protected: header, format }
    assert.strictEqual(answer(` ${JSON.stringify(reordered, null, 2)}\n`), "verified")
    assert.strictEqual(answer(text.replace('"format"', '"\\u0066ormat"')), "verified")
  })

  const more = (member: string) => `${text.slice(0, -1)},${member}}`
  const cases: ReadonlyArray<readonly [name: string, json: string]> = [
    ["a byte order mark", `\ufeff${text}`],
    ["an equal member twice", more(`"payload":"${envelope.payload}"`)],
    ["another payload before it", `{"payload":"e30",${text.slice(1)}`],
    ["a member twice, once escaped", more(`"\\u0070ayload":"${envelope.payload}"`)],
    ["an unprotected header", more('"header":{}')],
    ["the kid outside", more('"kid":"k"')],
    ["a number", more('"x":1')],
    ["a list of envelopes", `[${text}]`],
    ["two envelopes", `${text}${text}`],
    ["no JSON", "evidence"],
    ["nothing", ""]
  ]
  for (const [name, json] of cases) {
    it(`is refused with ${name}`, () => assert.strictEqual(answer(json), "envelope_malformed"))
  }

  it("is refused when it is not UTF-8", () => {
    const result = verifyEvidenceBytes(Uint8Array.of(0x7b, 0xff, 0x7d), keySet)
    assert.isTrue(Result.isFailure(result))
  })
})

describe("a continuation of evidence (part 7)", () => {
  const outcomeOf = (candidate: unknown) => {
    const result = verifyEvidenceContinuation(candidate, keySet)
    return Result.isFailure(result) ? result.failure.reason : "verified"
  }
  const signedAs = (format: string, schema: string) => ({
    ...withPayload(JSON.stringify({ ...PAYLOAD, schema })),
    format
  })
  const continuation = signedAs(CONTINUATION_FORMAT, CONTINUATION_FORMAT)

  it("has a format and a schema of its own", () => {
    assert.strictEqual(outcomeOf(continuation), "verified")
    assert.strictEqual(outcomeOf(signedAs(CONTINUATION_FORMAT, "svc.evidence.v1")), "schema_unsupported")
  })

  it("is not evidence of a whole journal, and such is no continuation", () => {
    assert.strictEqual(outcome(continuation), "format_unsupported")
    assert.strictEqual(outcome(signedAs("svc.evidence.v1", CONTINUATION_FORMAT)), "schema_unsupported")
    assert.strictEqual(outcomeOf(envelope), "format_unsupported")
  })
})

describe("the payload of evidence (part 7)", () => {
  it.each(["", "x", "[]", "null", '"svc.evidence.v1"', "{", "\ufeff{}"])("is not the text %j", (text) => {
    assert.strictEqual(outcome(withPayload(text)), "payload_malformed")
  })

  it.each([
    '{"schema":"svc.evidence.v1","schema":"svc.evidence.v1"}',
    '{"schema":"svc.evidence.v1","events":[{"a":1,"\\u0061":2}]}',
    '{"schema":"svc.evidence.v1","amount":9007199254740993}',
    '{"schema":"svc.evidence.v1","amount":1.0}',
    '{"schema":"svc.evidence.v1","amount":100.5}',
    '{"schema":"svc.evidence.v1","amount":1e2}',
    '{"schema":"svc.evidence.v1","events":[{"amount":1E0}]}'
  ])("is strict JSON: %s", (text) => assert.strictEqual(outcome(withPayload(text)), "payload_malformed"))

  it("is refused when it is not UTF-8, although signed", () => {
    const candidate = sign(
      part({ alg: "ES256", kid: key.kid }),
      encodeBase64Url(Uint8Array.of(0x7b, 0xff, 0x7d))
    )
    assert.strictEqual(outcome(candidate), "payload_malformed")
  })

  it("is verified as the base64url text that was signed", () => {
    for (const text of [
      `${envelope.payload}=`,
      `${envelope.payload}\n`,
      "é",
      `+${envelope.payload.slice(1)}`
    ]) {
      assert.strictEqual(outcome(sign(envelope.protected, text)), "payload_malformed")
    }
  })

  it.each([{}, { schema: "svc.evidence.v2" }, { schema: null }, { schema: ["svc.evidence.v1"] }])(
    "has the schema, not %j",
    (payload) => assert.strictEqual(outcome(withPayload(JSON.stringify(payload))), "schema_unsupported")
  )

  it("has no schema through a member named __proto__", () => {
    const text = '{"__proto__":{"schema":"svc.evidence.v1"}}'
    assert.strictEqual(outcome(withPayload(text)), "schema_unsupported")
  })

  it("may nest deeper than a request, up to its own limit", () => {
    const nested = (levels: number) =>
      withPayload(`{"schema":"svc.evidence.v1","x":${"[".repeat(levels)}${"]".repeat(levels)}}`)
    assert.strictEqual(outcome(nested(MAX_EVIDENCE_DEPTH - 1)), "verified")
    assert.strictEqual(outcome(nested(MAX_EVIDENCE_DEPTH)), "payload_malformed")
  })

  it("is looked at up to its largest size", () => {
    const most = Math.ceil((MAX_EVIDENCE_PAYLOAD_BYTES * 4) / 3)
    const ofCharacters = (count: number) => ({ ...envelope, payload: "=".padEnd(count, "A") })
    assert.strictEqual(outcome(ofCharacters(most)), "payload_malformed")
    assert.strictEqual(outcome(ofCharacters(most + 1)), "payload_too_large")
  })

  it("may hold 100,000 events", () => {
    const events = Array.from({ length: 100_000 }, (_, index) => ({ seq: index + 1, id: `evt_${index}` }))
    assert.strictEqual(outcome(withPayload(JSON.stringify({ ...PAYLOAD, events }))), "verified")
  })
})
