import { generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { p256 } from "@noble/curves/nist.js"
import { KeyManagementRefused, KeyManagementUnavailable } from "@svc/domain/ports/KeyManagement"
import { Signer } from "@svc/domain/ports/Signer"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { signerSuite } from "@svc/testkit/SignerSuite"
import { Context, Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { type AwsAnswer, fakeAwsKms, REGION } from "../test/FakeAwsKms.ts"
import { recordedKey, signerWith } from "../test/StoredManagedKey.ts"
import { makeAwsKms, signatureOfDer } from "./AwsKms.ts"
import { isEncryptedMasterKey, managedKeys } from "./KeyManagementOnDemand.ts"
import { REFUSAL_SECONDS } from "./RefusedKeys.ts"

const SECRET = "wJalrXUtnFEMIsecret"

/** An account with its service, as this process uses it: with short pauses, so that tests do not wait. */
const account = Effect.gen(function* () {
  const aws = yield* fakeAwsKms
  const service = makeAwsKms({
    endpoint: aws.endpoint,
    region: REGION,
    credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: SECRET },
    requestHandler: { requestTimeout: 100, throwOnRequestTimeout: true }
  })
  return { aws, service, kms: managedKeys({ "aws-kms": Effect.succeed(service) }) }
})

const DIGEST = new Uint8Array(32).fill(5)

const FEWER_SIGNATURES = 40

signerSuite(
  "of a key in AWS KMS",
  Layer.unwrap(
    Effect.gen(function* () {
      const { aws, kms } = yield* account
      return signerWith(kms, [yield* recordedKey(`aws-kms:${aws.addKey().arn}`, kms)])
    })
  ),
  FEWER_SIGNATURES
)

describe("a call to AWS KMS", () => {
  const THROTTLED: AwsAnswer = { status: 400, type: "ThrottlingException", message: "Rate exceeded" }
  const PASSING: ReadonlyArray<readonly [string, AwsAnswer, number]> = [
    ["throttled", THROTTLED, 3],
    ["answered with 500", { status: 500, type: "KMSInternalException" }, 3],
    ["answered with 503", { status: 503, type: "DependencyTimeoutException" }, 3],
    ["not answered", "silence", 3],
    ["cut off", "cut", 3],
    ["answered with something else", { text: "<html>" }, 1],
    ["for a disabled key", { status: 400, type: "DisabledException" }, 1],
    ["for a key about to be deleted", { status: 400, type: "KMSInvalidStateException" }, 1],
    ["with an expired token", { status: 400, type: "ExpiredTokenException" }, 1]
  ]
  for (const [what, always, attempts] of PASSING) {
    it.effect(`that is ${what} may succeed later, and is tried ${attempts} times at most`, () =>
      Effect.gen(function* () {
        const { aws, service } = yield* account
        const { arn } = aws.addKey()
        aws.always = always
        const fault = yield* Effect.flip(service.sign(arn, DIGEST))
        assert.instanceOf(fault, KeyManagementUnavailable)
        assert.include(fault.detail, arn)
        assert.lengthOf(aws.calls, attempts)
        aws.always = undefined
        assert.lengthOf(yield* service.sign(arn, DIGEST), 64)
      })
    )
  }

  it.effect("succeeds if an attempt does", () =>
    Effect.gen(function* () {
      const { aws, service } = yield* account
      const { arn } = aws.addKey()
      aws.next.push(THROTTLED, { status: 500, type: "KMSInternalException" })
      assert.lengthOf(yield* service.sign(arn, DIGEST), 64)
      assert.lengthOf(aws.calls, 3)
      assert.isFalse(JSON.stringify(aws.calls).includes(SECRET))
    })
  )

  const REFUSED = ["AccessDeniedException", "UnrecognizedClientException", "ValidationException"]
  for (const type of REFUSED) {
    it.effect(`that is answered with ${type} is refused at once, without the words of the answer`, () =>
      Effect.gen(function* () {
        const { aws, service } = yield* account
        const { arn } = aws.addKey()
        aws.always = { status: 400, type, message: `quoting ${SECRET}` }
        const fault = yield* Effect.flip(service.sign(arn, DIGEST))
        assert.instanceOf(fault, KeyManagementRefused)
        assert.match(fault.detail, new RegExp(`${arn} .*kms:Sign \\(${type}\\)`, "u"))
        assert.notInclude(JSON.stringify(fault), SECRET)
        assert.lengthOf(aws.calls, 1)
      })
    )
  }

  it.effect("gives the public key of an alias under the key's own name", () =>
    Effect.gen(function* () {
      const { aws, kms } = yield* account
      const key = aws.addKey()
      aws.alias("signing", key)
      const { name, publicKey } = yield* kms.publicKey("aws-kms:alias/signing")
      assert.strictEqual(name, `aws-kms:${key.arn}`)
      assert.lengthOf(publicKey, 65)
    })
  )

  for (const [what, spec, usage] of [
    ["RSA", "RSA_2048", "SIGN_VERIFY"],
    ["on another curve", "ECC_NIST_P384", "SIGN_VERIFY"],
    ["for key agreement", "ECC_NIST_P256", "KEY_AGREEMENT"],
    ["symmetric", "SYMMETRIC_DEFAULT", "ENCRYPT_DECRYPT"]
  ] as const) {
    it.effect(`refuses a signing key that is ${what}`, () =>
      Effect.gen(function* () {
        const { aws, service } = yield* account
        const { arn } = aws.addKey({ spec, usage })
        const fault = yield* Effect.flip(service.publicKey(arn))
        assert.instanceOf(fault, KeyManagementRefused)
        assert.include(fault.detail, arn)
      })
    )
  }

  it.effect("refuses what is no public key, and what is no signature", () =>
    Effect.gen(function* () {
      const { aws, service } = yield* account
      const { arn } = aws.addKey()
      for (const PublicKey of ["", "AAAA"]) {
        aws.next.push({ body: { PublicKey } })
        assert.instanceOf(yield* Effect.flip(service.publicKey(arn)), KeyManagementRefused)
      }
      for (const Signature of ["", "AAAA", Buffer.alloc(64).toString("base64")]) {
        aws.next.push({ body: { Signature } })
        assert.instanceOf(yield* Effect.flip(service.sign(arn, DIGEST)), KeyManagementRefused)
      }
    })
  )

  it.effect("ends when nothing comes within its time", () =>
    Effect.gen(function* () {
      const aws = yield* fakeAwsKms
      const { arn } = aws.addKey()
      aws.always = "silence"
      const credentials = { accessKeyId: "A", secretAccessKey: SECRET }
      const service = makeAwsKms({ endpoint: aws.endpoint, credentials })
      const call = yield* Effect.forkChild(Effect.flip(service.sign(arn, DIGEST)), { startImmediately: true })
      yield* TestClock.adjust("4 seconds")
      assert.match((yield* Fiber.join(call)).detail, /within 4000 ms/u)
    })
  )
})

const lengthPrefixed = (tag: number, bytes: ReadonlyArray<number>) => [tag, bytes.length, ...bytes]

const integerOf = (value: bigint): ReadonlyArray<number> => {
  const hex = value.toString(16)
  const bytes = [...Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex")]
  return lengthPrefixed(0x02, bytes[0]! >= 0x80 ? [0, ...bytes] : bytes)
}

const derOf = (r: bigint, s: bigint) =>
  new Uint8Array(lengthPrefixed(0x30, [...integerOf(r), ...integerOf(s)]))

const ORDER = p256.Point.CURVE().n

/** Numbers of every length, and those at the ends. */
const scalar = fc.oneof(
  fc.bigInt({ min: 1n, max: ORDER - 1n }),
  fc.nat({ max: 255 }).chain((bits) => fc.bigInt({ min: 1n, max: (1n << BigInt(Math.max(bits, 1))) - 1n })),
  fc.constantFrom(1n, 127n, 128n, 255n, 256n, ORDER - 1n, ORDER / 2n, ORDER / 2n + 1n)
)

const hexOf = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("hex")

describe("a signature in DER", () => {
  it("is r and s in 32 bytes each, whatever their lengths", () => {
    fc.assert(
      fc.property(scalar, scalar, (r, s) => {
        const expected = r.toString(16).padStart(64, "0") + s.toString(16).padStart(64, "0")
        assert.strictEqual(hexOf(signatureOfDer(derOf(r, s))), expected)
      })
    )
  })

  it("is refused when bytes are missing, added or changed in its frame", () => {
    fc.assert(
      fc.property(scalar, scalar, fc.nat(), fc.integer({ min: 1, max: 255 }), (r, s, place, change) => {
        const der = derOf(r, s)
        assert.isUndefined(signatureOfDer(der.subarray(0, place % der.length)))
        assert.isUndefined(signatureOfDer(new Uint8Array([...der, change])))
        const frame = [0, 1, 2, 3, 4 + der[3]!, 5 + der[3]!]
        const changed = der.slice()
        changed[frame[place % frame.length]!]! ^= change
        assert.notStrictEqual(hexOf(signatureOfDer(changed)), hexOf(signatureOfDer(der)))
      })
    )
  })

  it("is refused with a number that is 0, negative, too long, too large or padded", () => {
    const one = [0x02, 1, 1]
    const integers = [
      [0x02, 1, 0],
      [0x02, 0],
      [0x02, 1, 0x80],
      [0x02, 2, 0, 1],
      [0x02, 0x81, 1, 1],
      integerOf(ORDER),
      integerOf(1n << 256n),
      lengthPrefixed(0x02, new Array(34).fill(1))
    ]
    for (const integer of integers) {
      assert.isUndefined(signatureOfDer(new Uint8Array(lengthPrefixed(0x30, [...integer, ...one]))))
      assert.isUndefined(signatureOfDer(new Uint8Array(lengthPrefixed(0x30, [...one, ...integer]))))
    }
    assert.isUndefined(signatureOfDer(new Uint8Array(0)))
  })
})

describe("a signer with a key in a key management service", () => {
  const signed = (ports: Context.Context<Signer | StoreHealth>) =>
    Effect.gen(function* () {
      const { begin } = yield* Context.get(ports, Signer).current
      const signing = begin()
      signing.update(DIGEST)
      return yield* signing.signature
    })

  it.effect(
    "opens while the service is away, keeps its key set and its health, and signs once it is back",
    () =>
      Effect.gen(function* () {
        const { aws, kms } = yield* account
        const key = yield* recordedKey(`aws-kms:${aws.addKey().arn}`, kms)
        aws.always = { status: 500, type: "KMSInternalException" }
        const ports = yield* Layer.build(signerWith(kms, [key]))
        assert.strictEqual((yield* Effect.flip(signed(ports)))._tag, "SignerUnavailable")
        assert.lengthOf((yield* Context.get(ports, Signer).keySet).keys, 1)
        assert.deepStrictEqual(yield* Context.get(ports, StoreHealth).faults, [])
        aws.always = undefined
        yield* TestClock.adjust("5 seconds")
        assert.lengthOf(yield* signed(ports), 64)
        for (const type of ["ThrottlingException", "AccessDeniedException"]) {
          aws.always = { status: 400, type }
          assert.strictEqual((yield* Effect.flip(signed(ports)))._tag, "SignerUnavailable")
          yield* TestClock.adjust("5 seconds")
          assert.deepStrictEqual(yield* Context.get(ports, StoreHealth).faults, [])
        }
      })
  )

  it.effect(
    "asks again for a key that the service refuses after a while alone, and is observed if it does",
    () =>
      Effect.gen(function* () {
        const { aws, service } = yield* account
        const observed: Array<string> = []
        const kms = managedKeys(
          { "aws-kms": Effect.succeed(service) },
          {
            calling: (operation, call) =>
              Effect.onExit(call, (exit) =>
                Effect.sync(() => void observed.push(`${operation} ${exit._tag}`))
              )
          }
        )
        const held = aws.addKey()
        const ports = yield* Layer.build(signerWith(kms, [yield* recordedKey(`aws-kms:${held.arn}`, kms)]))
        // Once when it was recorded and once when the signer opened it.
        assert.deepStrictEqual(observed, ["public_key Success", "sign Success", "sign Success"])
        observed.length = 0
        aws.calls.length = 0
        aws.always = { status: 400, type: "AccessDeniedException" }
        const refused = Effect.gen(function* () {
          assert.strictEqual((yield* Effect.flip(signed(ports)))._tag, "SignerUnavailable")
          assert.deepStrictEqual(yield* Context.get(ports, StoreHealth).faults, [])
        })
        yield* Effect.repeat(refused, { times: 4 })
        assert.lengthOf(aws.calls, 1)
        yield* TestClock.adjust(`${Number(REFUSAL_SECONDS)} seconds`)
        yield* refused
        assert.lengthOf(aws.calls, 2)
        assert.deepStrictEqual(observed, ["sign Failure", "sign Failure"])
        // Another key is not taken for the one that is refused.
        aws.always = undefined
        assert.lengthOf(yield* kms.sign(`aws-kms:${aws.addKey().arn}`, DIGEST), 64)
        yield* TestClock.adjust(`${Number(REFUSAL_SECONDS)} seconds`)
        assert.lengthOf(yield* signed(ports), 64)
      })
  )

  it.effect("does not try a key again at once that gives signatures of another", () =>
    Effect.gen(function* () {
      const { aws, kms } = yield* account
      const held = aws.addKey()
      const key = yield* recordedKey(`aws-kms:${held.arn}`, kms)
      aws.always = { status: 500, type: "KMSInternalException" }
      const ports = yield* Layer.build(signerWith(kms, [key]))
      aws.always = undefined
      const own = held.privateKey
      held.privateKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
      yield* TestClock.adjust("5 seconds")
      aws.calls.length = 0
      for (let round = 0; round < 4; round++) {
        assert.strictEqual((yield* Effect.flip(signed(ports)))._tag, "SignerUnavailable")
        assert.deepStrictEqual(yield* Context.get(ports, StoreHealth).faults, [])
      }
      assert.lengthOf(aws.calls, 1)
      held.privateKey = own
      yield* TestClock.adjust("5 seconds")
      assert.lengthOf(yield* signed(ports), 64)
    })
  )

  it.effect("does not open where the service refuses, or signs with another key", () =>
    Effect.gen(function* () {
      const { aws, kms } = yield* account
      const other = generateKeyPairSync("ec", { namedCurve: "P-256" })
      const held = aws.addKey()
      const key = yield* recordedKey(`aws-kms:${held.arn}`, kms)
      aws.always = { status: 400, type: "AccessDeniedException" }
      assert.instanceOf(yield* Effect.flip(Layer.build(signerWith(kms, [key]))), KeyManagementRefused)
      aws.always = undefined
      yield* TestClock.adjust(`${Number(REFUSAL_SECONDS)} seconds`)
      held.privateKey = other.privateKey
      const fault = yield* Effect.flip(Layer.build(signerWith(kms, [key])))
      assert.match(String((fault as KeyManagementRefused).detail), /does not verify/u)
    })
  )

  it.effect("gives no signature of another key, of another digest, or of zeros", () =>
    Effect.gen(function* () {
      const { aws, kms } = yield* account
      const held = aws.addKey()
      const { arn } = held
      const ports = yield* Layer.build(signerWith(kms, [yield* recordedKey(`aws-kms:${arn}`, kms)]))
      const own = held.privateKey
      held.privateKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
      assert.strictEqual((yield* Effect.flip(signed(ports)))._tag, "SignerUnavailable")
      held.privateKey = own
      const ofAnother = yield* kms.sign(`aws-kms:${arn}`, new Uint8Array(32).fill(6))
      const halves = [ofAnother.subarray(0, 32), ofAnother.subarray(32)]
      const [r, s] = halves.map((half) => BigInt(`0x${Buffer.from(half).toString("hex")}`))
      aws.next.push({ body: { Signature: Buffer.from(derOf(r!, s!)).toString("base64") } })
      assert.strictEqual((yield* Effect.flip(signed(ports)))._tag, "SignerUnavailable")
      assert.lengthOf(yield* signed(ports), 64)
    })
  )

  it.effect("tries the key that is to sign next before it does, once", () =>
    Effect.gen(function* () {
      const { aws, kms } = yield* account
      const [first, next] = [aws.addKey(), aws.addKey()]
      const keys = [
        yield* recordedKey(`aws-kms:${first.arn}`, kms),
        yield* recordedKey(`aws-kms:${next.arn}`, kms)
      ]
      const ports = yield* Layer.build(signerWith(kms, keys))
      aws.calls.length = 0
      for (let round = 0; round < 3; round++) yield* signed(ports)
      assert.lengthOf(
        aws.calls.filter(({ body }) => body.KeyId === next.arn),
        1
      )
      assert.lengthOf((yield* Context.get(ports, Signer).keySet).keys, 2)
    })
  )
})

describe("a master key that AWS KMS encrypts", () => {
  it.effect("is decrypted by the key and for the purpose that it was made with alone", () =>
    Effect.gen(function* () {
      const { aws, kms } = yield* account
      const { arn } = aws.addKey({ spec: "SYMMETRIC_DEFAULT", usage: "ENCRYPT_DECRYPT" })
      const text = yield* kms.newMasterKey(`aws-kms:${arn}`)
      assert.isTrue(isEncryptedMasterKey(text))
      assert.isTrue(text.startsWith(`aws-kms:${arn}.`))
      const opened = yield* kms.openMasterKey(text)
      assert.lengthOf(Redacted.value(opened), 32)
      assert.deepStrictEqual(aws.calls[0]?.body.EncryptionContext, { "svc:purpose": "master-key" })
      assert.notInclude(JSON.stringify(opened), Buffer.from(Redacted.value(opened)).toString("base64"))
      const other = aws.addKey({ spec: "SYMMETRIC_DEFAULT", usage: "ENCRYPT_DECRYPT" })
      const changed = `${text.slice(0, -8)}${text.endsWith("A") ? "B" : "A"}${text.slice(-7)}`
      for (const wrong of [
        text.replace(arn, other.arn),
        changed,
        "aws-kms:x",
        `gcp-kms:x.${text.split(".")[1]}`
      ])
        assert.instanceOf(yield* Effect.flip(kms.openMasterKey(wrong)), KeyManagementRefused)
      aws.always = "cut"
      assert.instanceOf(yield* Effect.flip(kms.openMasterKey(text)), KeyManagementUnavailable)
    })
  )
})
