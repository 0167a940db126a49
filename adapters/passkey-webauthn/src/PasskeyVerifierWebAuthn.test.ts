import { constants, generateKeyPairSync, sign } from "node:crypto"
import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import type { AuthenticationResponse, RegistrationResponse } from "@svc/domain/approval/PasskeyResponse"
import { PasskeyRefused, PasskeyVerifier, type VerifiedRegistration } from "@svc/domain/ports/PasskeyVerifier"
import { type CborValue, encodeCbor } from "@svc/testkit/CborEncoder"
import {
  type CredentialKeyPair,
  FLAG_ATTESTED_CREDENTIAL,
  FLAG_BACKED_UP,
  FLAG_BACKUP_ELIGIBLE,
  FLAG_USER_PRESENT,
  FLAG_USER_VERIFIED,
  type Misbehaviour,
  makeSoftwarePasskey,
  type SoftwarePasskeyOptions
} from "@svc/testkit/SoftwarePasskey"
import { Cause, Effect, Exit, Redacted } from "effect"
import * as fc from "fast-check"
import { layer } from "./PasskeyVerifierWebAuthn.ts"

const relyingParty = { rpId: "approve.example", origin: "https://approve.example" }
const challenge = Buffer.alloc(32, 7).toString("base64url")
const userHandle = Buffer.alloc(32, 9).toString("base64url")
const creation = {
  challenge,
  rp: { id: relyingParty.rpId },
  user: { id: userHandle },
  pubKeyCredParams: [{ alg: -7 }, { alg: -8 }, { alg: -257 }]
}
const request = { challenge, rpId: relyingParty.rpId }

const makePasskey = (options: Partial<SoftwarePasskeyOptions> = {}) =>
  makeSoftwarePasskey({ origin: relyingParty.origin, ...options })
type Passkey = ReturnType<typeof makePasskey>

const verifyRegistration = (response: RegistrationResponse) =>
  PasskeyVerifier.use((verifier) => verifier.verifyRegistration({ response, challenge, relyingParty })).pipe(
    Effect.provide(layer)
  )

const enrol = (passkey: Passkey) => verifyRegistration(passkey.register(creation))

const verifyAssertion = (response: AuthenticationResponse, credential: VerifiedRegistration) =>
  PasskeyVerifier.use((verifier) =>
    verifier.verifyAssertion({ response, challenge, relyingParty, credential, userHandle })
  ).pipe(Effect.provide(layer))

/** The `cause` of the refusal: our fault, or the message of the library's error. */
const refusalOf = (effect: Effect.Effect<unknown, PasskeyRefused>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    if (Exit.isSuccess(exit)) return "accepted"
    const error = Cause.squash(exit.cause)
    if (!(error instanceof PasskeyRefused)) return `not a refusal: ${String(error)}`
    return error.cause === undefined ? error.reason : (Redacted.value(error.cause) as Error).message
  })

const registrationRefusal = (misbehaviour: Misbehaviour, options: Partial<SoftwarePasskeyOptions> = {}) =>
  refusalOf(verifyRegistration(makePasskey(options).register(creation, misbehaviour)))

const assertionRefusal = (misbehaviour: Misbehaviour, options: Partial<SoftwarePasskeyOptions> = {}) =>
  Effect.gen(function* () {
    const passkey = makePasskey(options)
    const credential = yield* enrol(passkey)
    return yield* refusalOf(verifyAssertion(passkey.authenticate(request, misbehaviour), credential))
  })

const makeRs256 =
  (modulusLength: number, exponent = 0x10001) =>
  (): CredentialKeyPair => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength, publicExponent: exponent })
    const { n, e } = publicKey.export({ format: "jwk" })
    const coseKey = new Map<number, CborValue>([
      [1, 3],
      [3, -257],
      [-1, new Uint8Array(Buffer.from(n!, "base64url"))],
      [-2, new Uint8Array(Buffer.from(e!, "base64url"))]
    ])
    const padding = constants.RSA_PKCS1_PADDING
    return {
      algorithm: -257,
      coseKey: encodeCbor(coseKey),
      sign: (data) => new Uint8Array(sign("sha256", data, { key: privateKey, padding }))
    }
  }

const withCoseKey = (members: ReadonlyArray<readonly [number, CborValue]>, algorithm = -7) => ({
  makeKeyPair: (): CredentialKeyPair => ({
    algorithm,
    coseKey: encodeCbor(new Map(members)),
    sign: () => new Uint8Array(64)
  })
})

/** What both ceremonies must refuse, with what the refusal says of it. */
const REFUSED_AT_BOTH: ReadonlyArray<readonly [string, Misbehaviour, string | RegExp]> = [
  ["another port in the origin", { origin: "https://approve.example:8443" }, /origin/],
  ["http for https", { origin: "http://approve.example" }, /origin/],
  ["a subdomain", { origin: "https://www.approve.example" }, /origin/],
  ["the origin with a slash", { origin: "https://approve.example/" }, /origin/],
  ["the origin in upper case", { origin: "https://APPROVE.example" }, /origin/],
  ["an Android app", { origin: "android:apk-key-hash:7d1043473d55bfa90e8530d35801d4e381bc69f0" }, /origin/],
  ["the null origin", { origin: "null" }, /origin/],
  ["another challenge", { challenge: Buffer.alloc(32, 8).toString("base64url") }, /challenge/],
  ["the challenge with padding", { challenge: `${challenge}=` }, /challenge/],
  ["an empty challenge", { challenge: "" }, /challenge/],
  ["another type", { type: "payment.get" }, /type/],
  ["another rp id", { rpId: "example" }, /RP ID/],
  ["crossOrigin true", { crossOrigin: true }, "cross_origin"],
  ["crossOrigin of another type", { crossOrigin: 1 }, "cross_origin"],
  ["a topOrigin", { crossOrigin: true, topOrigin: "https://shop.example" }, "top_origin"],
  ["a topOrigin without crossOrigin", { topOrigin: "https://approve.example" }, "top_origin"],
  ["a topOrigin of null", { topOrigin: null }, "top_origin"],
  [
    "a repeated member in client data",
    { clientDataJson: (text) => text.replace("{", `{"origin":"https://evil.example",`) },
    "client_data_malformed"
  ],
  ["client data that is no JSON", { clientDataJson: () => "hello" }, "client_data_malformed"],
  ["client data that is an array", { clientDataJson: (text) => `[${text}]` }, "client_data_malformed"],
  [
    "client data with a mark before it",
    { clientDataJson: (text) => `\ufeff${text}` },
    "client_data_malformed"
  ],
  [
    "client data that is not UTF-8",
    { clientDataJson: () => Uint8Array.of(0x7b, 0xff, 0x7d) },
    "client_data_malformed"
  ],
  ["an id that is not the rawId", { rawId: "AAAA" }, "credential_id_mismatch"],
  ["an id that is not the credential's", { id: "AAAA" }, "credential_id_mismatch"],
  ["an id with padding", { id: `${"A".repeat(43)}=` }, "credential_id_invalid"],
  ["an id with loose bits", { id: "AB" }, "credential_id_invalid"],
  ["an empty id", { id: "" }, "credential_id_invalid"],
  ["an id of 1024 bytes", { id: Buffer.alloc(1024).toString("base64url") }, "credential_id_invalid"]
]

/** Flags bytes that both ceremonies must refuse; registration adds the attested credential flag. */
const REFUSED_FLAGS: ReadonlyArray<readonly [string, number, RegExp | string]> = [
  [
    "the user not verified",
    FLAG_USER_PRESENT | FLAG_BACKUP_ELIGIBLE | FLAG_BACKED_UP,
    /user could not be verified/
  ],
  ["the user not present", FLAG_USER_VERIFIED | FLAG_BACKUP_ELIGIBLE | FLAG_BACKED_UP, /present/],
  ["no flag at all", FLAG_BACKUP_ELIGIBLE, /present/]
]

const assertRefusal = (actual: unknown, expected: string | RegExp): void =>
  expected instanceof RegExp
    ? assert.match(String(actual), expected)
    : assert.strictEqual(actual as string, expected)

describe("PasskeyVerifierWebAuthn", () => {
  describe("accepts", () => {
    const passkeys: ReadonlyArray<readonly [string, Partial<SoftwarePasskeyOptions>, number]> = [
      ["ES256", { algorithm: -7 }, -7],
      ["EdDSA", { algorithm: -8 }, -8],
      ["RS256", { makeKeyPair: makeRs256(2048) }, -257]
    ]
    for (const [name, options, algorithm] of passkeys) {
      it.effect(`a passkey with ${name}, registered and then used`, () =>
        Effect.gen(function* () {
          const passkey = makePasskey(options)
          const registered = passkey.register(creation)
          const credential = yield* verifyRegistration(registered)
          assert.strictEqual(credential.credentialId, registered.id)
          assert.strictEqual(credential.algorithm, algorithm)
          assert.strictEqual(credential.counter, 0)
          assert.isTrue(credential.backupEligible)
          assert.match(credential.publicKey, /^[A-Za-z0-9_-]+$/)
          const verified = yield* verifyAssertion(passkey.authenticate(request), credential)
          assert.deepStrictEqual(verified, { counter: 0 })
        })
      )
    }

    it.effect("a passkey bound to its device", () =>
      Effect.gen(function* () {
        const passkey = makePasskey({ backupEligible: false })
        const credential = yield* enrol(passkey)
        assert.isFalse(credential.backupEligible)
        yield* verifyAssertion(passkey.authenticate(request), credential)
      })
    )

    it.effect("a backup state that changes, for it may", () =>
      Effect.gen(function* () {
        const passkey = makePasskey({ backupEligible: true, backedUp: false })
        const credential = yield* enrol(passkey)
        const flags = FLAG_USER_PRESENT | FLAG_USER_VERIFIED | FLAG_BACKUP_ELIGIBLE | FLAG_BACKED_UP
        yield* verifyAssertion(passkey.authenticate(request, { flags }), credential)
      })
    )

    it.effect("an assertion without user handle, and one whose handle is the registered user id", () =>
      Effect.gen(function* () {
        const passkey = makePasskey()
        const credential = yield* enrol(passkey)
        const honest = passkey.authenticate(request)
        assert.strictEqual(honest.response.userHandle, userHandle)
        yield* verifyAssertion(honest, credential)
        yield* verifyAssertion(passkey.authenticate(request, { userHandle: null }), credential)
      })
    )

    it.effect("client data without crossOrigin, and with members of a later standard", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* assertionRefusal({ crossOrigin: undefined }), "accepted")
        const clientDataJson = (text: string) => text.replace("{", `{"later":{"a":[null]},`)
        assert.strictEqual(yield* assertionRefusal({ clientDataJson }), "accepted")
        assert.strictEqual(yield* registrationRefusal({ clientDataJson }), "accepted")
      })
    )
  })

  describe("refuses at registration", () => {
    for (const [name, misbehaviour, expected] of REFUSED_AT_BOTH) {
      it.effect(name, () =>
        Effect.map(registrationRefusal(misbehaviour), (actual) => assertRefusal(actual, expected))
      )
    }
    for (const [name, flags, expected] of REFUSED_FLAGS) {
      it.effect(name, () =>
        Effect.map(registrationRefusal({ flags: flags | FLAG_ATTESTED_CREDENTIAL }), (actual) =>
          assertRefusal(actual, expected)
        )
      )
    }

    it.effect("backed up without backup eligible", () =>
      Effect.map(registrationRefusal({}, { backupEligible: false, backedUp: true }), (actual) =>
        assert.match(String(actual), /backed up/)
      )
    )

    it.effect("the type of the other ceremony", () =>
      Effect.map(registrationRefusal({ type: "webauthn.get" }), (actual) =>
        assert.match(String(actual), /type/)
      )
    )

    it.effect("no attested credential", () =>
      Effect.map(registrationRefusal({ flags: FLAG_USER_PRESENT | FLAG_USER_VERIFIED }), (actual) =>
        assert.notStrictEqual(actual, "accepted")
      )
    )

    const point = new Uint8Array(32).fill(1)
    const keys: ReadonlyArray<readonly [string, Partial<SoftwarePasskeyOptions>]> = [
      [
        "a point that is not on the curve",
        withCoseKey([
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, point],
          [-3, point]
        ])
      ],
      [
        "ES256 on another curve",
        withCoseKey([
          [1, 2],
          [3, -7],
          [-1, 2],
          [-2, point],
          [-3, point]
        ])
      ],
      [
        "ES256 without y",
        withCoseKey([
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, point]
        ])
      ],
      [
        "EdDSA with a key of 31 bytes",
        withCoseKey(
          [
            [1, 1],
            [3, -8],
            [-1, 6],
            [-2, point.slice(1)]
          ],
          -8
        )
      ],
      [
        "EdDSA on another curve",
        withCoseKey(
          [
            [1, 1],
            [3, -8],
            [-1, 4],
            [-2, point]
          ],
          -8
        )
      ],
      [
        "EdDSA that says it is EC2",
        withCoseKey(
          [
            [1, 2],
            [3, -8],
            [-1, 6],
            [-2, point]
          ],
          -8
        )
      ],
      ["RS256 of 1024 bits", { makeKeyPair: makeRs256(1024) }],
      [
        "RS256 with exponent 1",
        withCoseKey(
          [
            [1, 3],
            [3, -257],
            [-1, new Uint8Array(256).fill(255)],
            [-2, Uint8Array.of(1)]
          ],
          -257
        )
      ],
      [
        "RS256 without modulus",
        withCoseKey(
          [
            [1, 3],
            [3, -257],
            [-2, Uint8Array.of(1, 0, 1)]
          ],
          -257
        )
      ]
    ]
    for (const [name, options] of keys) {
      it.effect(name, () =>
        Effect.map(registrationRefusal({}, options), (actual) =>
          assert.strictEqual(actual as string, "public_key_not_accepted")
        )
      )
    }

    it.effect("an algorithm that we do not offer", () =>
      Effect.gen(function* () {
        const passkey = makePasskey(
          withCoseKey(
            [
              [1, 2],
              [3, -35],
              [-1, 2],
              [-2, point],
              [-3, point]
            ],
            -35
          )
        )
        const response = passkey.register({ ...creation, pubKeyCredParams: [{ alg: -35 }] })
        assert.match(String(yield* refusalOf(verifyRegistration(response))), /alg/)
      })
    )

    const attestationOf = (format: string, statement: ReadonlyArray<readonly [string, CborValue]>) => {
      const registered = makePasskey().register(creation)
      const authData = new Uint8Array(Buffer.from(registered.response.authenticatorData, "base64url"))
      const attestation = new Map<string, CborValue>([
        ["fmt", format],
        ["attStmt", new Map(statement)],
        ["authData", authData]
      ])
      const attestationObject = Buffer.from(encodeCbor(attestation)).toString("base64url")
      return { ...registered, response: { ...registered.response, attestationObject } }
    }

    it.effect("every attestation that brings certificates or that nobody knows", () =>
      Effect.gen(function* () {
        for (const format of ["apple", "android-key", "android-safetynet", "tpm", "fido-u2f", "later", ""]) {
          const refusal = yield* refusalOf(verifyRegistration(attestationOf(format, [])))
          assert.strictEqual(refusal as string, "attestation_not_accepted")
        }
        const packed = attestationOf("packed", [["x5c", Uint8Array.of(1)]])
        assert.strictEqual(yield* refusalOf(verifyRegistration(packed)), "attestation_not_accepted")
      })
    )

    it.effect("none with a statement, and self attestation that does not verify", () =>
      Effect.gen(function* () {
        const none = attestationOf("none", [["sig", Uint8Array.of(1)]])
        assert.match(String(yield* refusalOf(verifyRegistration(none))), /None attestation/)
        const statement = [
          ["alg", -7],
          ["sig", new Uint8Array(8)]
        ] as const
        const packed = attestationOf("packed", statement)
        assert.notStrictEqual(yield* refusalOf(verifyRegistration(packed)), "accepted")
      })
    )

    it.effect("bytes that are not canonical base64url", () =>
      Effect.gen(function* () {
        const honest = makePasskey().register(creation)
        for (const member of ["clientDataJSON", "attestationObject"] as const) {
          const text = honest.response[member]
          for (const altered of [
            `${text}=`,
            `${text} `,
            `${text}\n`,
            `+${text.slice(1)}`,
            text.slice(0, 1)
          ]) {
            const response = { ...honest, response: { ...honest.response, [member]: altered } }
            assert.strictEqual(yield* refusalOf(verifyRegistration(response)), "bytes_not_base64url")
          }
        }
      })
    )
  })

  describe("refuses at an assertion", () => {
    for (const [name, misbehaviour, expected] of REFUSED_AT_BOTH) {
      it.effect(name, () =>
        Effect.map(assertionRefusal(misbehaviour), (actual) => assertRefusal(actual, expected))
      )
    }
    for (const [name, flags, expected] of REFUSED_FLAGS) {
      it.effect(name, () =>
        Effect.map(assertionRefusal({ flags }), (actual) => assertRefusal(actual, expected))
      )
    }

    const others: ReadonlyArray<
      readonly [string, Misbehaviour, Partial<SoftwarePasskeyOptions>, string | RegExp]
    > = [
      ["the type of the other ceremony", { type: "webauthn.create" }, {}, /type/],
      [
        "another user handle",
        { userHandle: Buffer.alloc(32).toString("base64url") },
        {},
        "user_handle_mismatch"
      ],
      ["an empty user handle", { userHandle: "" }, {}, "user_handle_mismatch"],
      ["the user handle with padding", { userHandle: `${userHandle}=` }, {}, "user_handle_mismatch"],
      [
        "backup eligibility lost",
        { flags: FLAG_USER_PRESENT | FLAG_USER_VERIFIED },
        { backupEligible: true },
        "backup_eligibility_changed"
      ],
      [
        "backup eligibility gained",
        { flags: FLAG_USER_PRESENT | FLAG_USER_VERIFIED | FLAG_BACKUP_ELIGIBLE },
        { backupEligible: false },
        "backup_eligibility_changed"
      ],
      [
        "backed up without backup eligible",
        { flags: FLAG_USER_PRESENT | FLAG_USER_VERIFIED | FLAG_BACKED_UP },
        { backupEligible: false },
        /backed up/
      ],
      ["a signature of zeros", { signature: () => new Uint8Array(70) }, {}, "signature_malformed"],
      [
        "a signature with a byte after it",
        { signature: (s) => Uint8Array.from([...s, 0]) },
        {},
        "signature_malformed"
      ],
      [
        "a signature that is r then s",
        { signature: () => new Uint8Array(64).fill(1) },
        {},
        "signature_malformed"
      ],
      ["no signature", { signature: () => new Uint8Array(0) }, {}, "signature_malformed"],
      [
        "an Ed25519 signature of zeros",
        { signature: () => new Uint8Array(64) },
        { algorithm: -8 },
        "signature_invalid"
      ],
      [
        "an Ed25519 signature cut short",
        { signature: (s) => s.slice(0, 63) },
        { algorithm: -8 },
        "signature_invalid"
      ],
      [
        "a well-formed signature of something else",
        { signature: () => Uint8Array.of(0x30, 6, 2, 1, 1, 2, 1, 1) },
        {},
        "signature_invalid"
      ]
    ]
    for (const [name, misbehaviour, options, expected] of others) {
      it.effect(name, () =>
        Effect.map(assertionRefusal(misbehaviour, options), (actual) => assertRefusal(actual, expected))
      )
    }

    it.effect("the passkey of somebody else", () =>
      Effect.gen(function* () {
        const [mine, theirs] = [makePasskey(), makePasskey()]
        const credential = yield* enrol(mine)
        const other = yield* enrol(theirs)
        const response = theirs.authenticate(request)
        assert.strictEqual(yield* refusalOf(verifyAssertion(response, credential)), "credential_id_mismatch")
        const renamed = theirs.authenticate(request, { id: credential.credentialId })
        assert.strictEqual(yield* refusalOf(verifyAssertion(renamed, credential)), "signature_invalid")
        assert.strictEqual(yield* refusalOf(verifyAssertion(response, other)), "accepted")
      })
    )

    it.effect("authenticator data cut short or followed by more", () =>
      Effect.gen(function* () {
        const passkey = makePasskey()
        const credential = yield* enrol(passkey)
        const honest = passkey.authenticate(request)
        const data = Buffer.from(honest.response.authenticatorData, "base64url")
        for (const altered of [
          data.subarray(0, 36),
          data.subarray(0, 0),
          Buffer.concat([data, Buffer.alloc(1)])
        ]) {
          const authenticatorData = altered.toString("base64url")
          const response = { ...honest, response: { ...honest.response, authenticatorData } }
          assert.notStrictEqual(yield* refusalOf(verifyAssertion(response, credential)), "accepted")
        }
      })
    )

    it.effect("bytes that are not canonical base64url", () =>
      Effect.gen(function* () {
        const passkey = makePasskey({ algorithm: -8 })
        const credential = yield* enrol(passkey)
        const honest = passkey.authenticate(request)
        for (const member of ["clientDataJSON", "authenticatorData", "signature"] as const) {
          const text = honest.response[member]
          for (const altered of [
            `${text}=`,
            `${text}==`,
            `${text} `,
            ` ${text}`,
            `${text}\n`,
            `/${text.slice(1)}`
          ]) {
            const response = { ...honest, response: { ...honest.response, [member]: altered } }
            assert.strictEqual(yield* refusalOf(verifyAssertion(response, credential)), "bytes_not_base64url")
          }
        }
        // 64 bytes leave four unused bits in the last of 86 characters.
        const loose = `${honest.response.signature.slice(0, -1)}B`
        const response = { ...honest, response: { ...honest.response, signature: loose } }
        assert.strictEqual(yield* refusalOf(verifyAssertion(response, credential)), "bytes_not_base64url")
      })
    )

    it.effect("a credential on record whose key is none of ours", () =>
      Effect.gen(function* () {
        const passkey = makePasskey()
        const credential = yield* enrol(passkey)
        const response = passkey.authenticate(request)
        for (const publicKey of [
          "",
          "AA",
          "oA",
          "////",
          Buffer.from(encodeCbor("x")).toString("base64url")
        ]) {
          const refusal = yield* refusalOf(verifyAssertion(response, { ...credential, publicKey }))
          assert.notStrictEqual(refusal, "accepted")
          assert.notMatch(String(refusal), /not a refusal/)
        }
      })
    )
  })

  describe("compares counters", () => {
    const cases: ReadonlyArray<readonly [stored: number, received: number, answer: boolean]> = [
      [0, 0, true],
      [0, 1, true],
      [5, 6, true],
      [5, 5, false],
      [5, 4, false],
      [5, 0, false],
      [4_294_967_294, 4_294_967_295, true],
      [4_294_967_295, 0, false]
    ]
    for (const [stored, received, answer] of cases) {
      it.effect(`${stored} on record, ${received} received: ${answer ? "accepted" : "refused"}`, () =>
        Effect.gen(function* () {
          const passkey = makePasskey()
          const credential = { ...(yield* enrol(passkey)), counter: stored }
          const response = passkey.authenticate(request, { counter: received })
          const exit = yield* Effect.exit(verifyAssertion(response, credential))
          if (answer) assert.deepStrictEqual(exit, Exit.succeed({ counter: received }))
          else assert.isTrue(Exit.isFailure(exit))
        })
      )
    }

    it.effect("0 and 0, twice in a row", () =>
      Effect.gen(function* () {
        const passkey = makePasskey()
        const credential = yield* enrol(passkey)
        yield* verifyAssertion(passkey.authenticate(request), credential)
        yield* verifyAssertion(passkey.authenticate(request), credential)
      })
    )

    it.effect("one that starts above 0 and grows", () =>
      Effect.gen(function* () {
        const passkey = makePasskey({ counter: 3 })
        const credential = yield* enrol(passkey)
        assert.strictEqual(credential.counter, 3)
        const { counter } = yield* verifyAssertion(passkey.authenticate(request), credential)
        assert.strictEqual(counter, 4)
      })
    )
  })

  it.effect("says nothing of its inputs but in the cause", () =>
    Effect.gen(function* () {
      const passkey = makePasskey()
      const credential = yield* enrol(passkey)
      const response = passkey.authenticate(request, { origin: "https://evil.example:1" })
      const error = yield* Effect.flip(verifyAssertion(response, credential))
      assert.strictEqual(error._tag, "PasskeyRefused")
      const shown = [error.message, String(error), inspect(error, { depth: 20 }), JSON.stringify(error)]
      for (const text of [...shown, Cause.pretty(Cause.fail(error))]) assert.notMatch(text, /evil|"https/u)
    })
  )

  it("never breaks, whatever the bytes are", async () => {
    const passkey = makePasskey()
    const credential = await Effect.runPromise(enrol(passkey))
    const registration = passkey.register(creation)
    const assertion = passkey.authenticate(request)
    const encoded = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64url"))
    await fc.assert(
      fc.asyncProperty(encoded, fc.nat(4), async (text, place) => {
        const members = [
          "clientDataJSON",
          "attestationObject",
          "clientDataJSON",
          "authenticatorData",
          "signature"
        ]
        const member = members[place]!
        const effect =
          place < 2
            ? verifyRegistration({ ...registration, response: { ...registration.response, [member]: text } })
            : verifyAssertion(
                { ...assertion, response: { ...assertion.response, [member]: text } },
                credential
              )
        const refusal = await Effect.runPromise(refusalOf(effect))
        assert.notStrictEqual(refusal, "accepted")
        assert.notMatch(String(refusal), /not a refusal/)
      }),
      { numRuns: 200 }
    )
  })
})
