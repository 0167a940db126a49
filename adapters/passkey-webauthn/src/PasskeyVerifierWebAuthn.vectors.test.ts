import { assert, describe, it } from "@effect/vitest"
import { decodeAttestationObject, parseAuthenticatorData } from "@simplewebauthn/server/helpers"
import { PasskeyRefused, PasskeyVerifier } from "@svc/domain/ports/PasskeyVerifier"
import { hasVectors, readVectorJson } from "@svc/protocol/test/PublicVectors"
import { Effect, Exit, Redacted } from "effect"
import { layer } from "./PasskeyVerifierWebAuthn.ts"

const VECTORS = "webauthn-l3/webauthn-l3-vectors.json"

interface Ceremony {
  readonly challenge: string
  readonly clientDataJSON: string
}
interface Vector {
  readonly anchor: string
  readonly registration: Ceremony & { readonly credential_id: string; readonly attestationObject: string }
  readonly authentication: Ceremony & { readonly authenticatorData: string; readonly signature: string }
}

interface VectorFile {
  readonly rpId: string
  readonly origin: string
  readonly vectors: ReadonlyArray<Vector>
}

const NO_USER_VERIFICATION = /user could not be verified/
const accepted = "accepted"

/**
 * The right answer to each vector's registration and authentication. Ours are fewer than the standard's
 * for four reasons: the user was not verified, the page was framed by another origin, the algorithm is
 * not one we offer, or there is an attestation other than self attestation, for which we never ask.
 */
const ANSWERS: Readonly<Record<string, readonly [registration: unknown, authentication: unknown]>> = {
  "none-es256": [NO_USER_VERIFICATION, NO_USER_VERIFICATION],
  "packed-self-es256": [accepted, NO_USER_VERIFICATION],
  "none-es256-crossOrigin": ["cross_origin", "cross_origin"],
  "none-es256-topOrigin": ["top_origin", "top_origin"],
  "none-es256-long-credential-id": [NO_USER_VERIFICATION, accepted],
  "packed-es256": ["attestation_not_accepted", accepted],
  "packed-es384": ["attestation_not_accepted", "public_key_not_accepted"],
  "packed-es512": ["attestation_not_accepted", "public_key_not_accepted"],
  "packed-rs256": ["attestation_not_accepted", NO_USER_VERIFICATION],
  "packed-eddsa": ["attestation_not_accepted", NO_USER_VERIFICATION],
  "packed-ed448": ["attestation_not_accepted", "public_key_not_accepted"],
  "tpm-es256": ["attestation_not_accepted", accepted],
  "android-key-es256": ["attestation_not_accepted", NO_USER_VERIFICATION],
  "apple-es256": ["attestation_not_accepted", NO_USER_VERIFICATION],
  "fido-u2f-es256": ["attestation_not_accepted", NO_USER_VERIFICATION]
}

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, "hex"))
const base64Url = (source: string | Uint8Array) =>
  Buffer.from(typeof source === "string" ? bytes(source) : source).toString("base64url")

const check = (answer: unknown, exit: Exit.Exit<unknown, PasskeyRefused>, what: string): void => {
  if (answer === accepted) {
    assert.isTrue(Exit.isSuccess(exit), `${what} is accepted: ${exit}`)
    return
  }
  const error = Exit.isFailure(exit) ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error : 0
  assert.instanceOf(error, PasskeyRefused, what)
  const { cause, reason } = error as PasskeyRefused
  if (answer instanceof RegExp)
    assert.match(Redacted.value(cause as Redacted.Redacted<Error>).message, answer, what)
  else assert.strictEqual(reason, answer, what)
}

describe.skipIf(!hasVectors(VECTORS))("PasskeyVerifierWebAuthn on the vectors of WebAuthn Level 3", () => {
  const { origin, rpId, vectors } = hasVectors(VECTORS)
    ? readVectorJson<VectorFile>(VECTORS)
    : { rpId: "", origin: "", vectors: [] }
  const relyingParty = { rpId, origin }
  const nameOf = ({ anchor }: Vector) => anchor.replace("sctn-test-vectors-", "")

  const register = ({ registration }: Vector) =>
    PasskeyVerifier.use((verifier) =>
      verifier.verifyRegistration({
        response: {
          id: base64Url(registration.credential_id),
          rawId: base64Url(registration.credential_id),
          type: "public-key",
          response: {
            clientDataJSON: base64Url(registration.clientDataJSON),
            attestationObject: base64Url(registration.attestationObject)
          }
        },
        challenge: base64Url(registration.challenge),
        relyingParty
      })
    ).pipe(Effect.provide(layer))

  const authenticate = ({ registration, authentication }: Vector) => {
    const attested = parseAuthenticatorData(
      decodeAttestationObject(bytes(registration.attestationObject)).get("authData")
    )
    const id = base64Url(registration.credential_id)
    return PasskeyVerifier.use((verifier) =>
      verifier.verifyAssertion({
        response: {
          id,
          rawId: id,
          type: "public-key",
          response: {
            clientDataJSON: base64Url(authentication.clientDataJSON),
            authenticatorData: base64Url(authentication.authenticatorData),
            signature: base64Url(authentication.signature)
          }
        },
        challenge: base64Url(authentication.challenge),
        relyingParty,
        credential: {
          credentialId: id,
          publicKey: base64Url(attested.credentialPublicKey!),
          counter: attested.counter,
          backupEligible: attested.flags.be
        },
        userHandle: "dXNlcg"
      })
    ).pipe(Effect.provide(layer))
  }

  it("knows the answer to every vector", () => {
    assert.deepStrictEqual(vectors.map(nameOf).sort(), Object.keys(ANSWERS).sort())
  })

  for (const vector of vectors) {
    const name = nameOf(vector)
    it.effect(name, () =>
      Effect.gen(function* () {
        const [registration, authentication] = ANSWERS[name]!
        check(registration, yield* Effect.exit(register(vector)), "registration")
        check(authentication, yield* Effect.exit(authenticate(vector)), "authentication")
      })
    )
  }

  it.effect("refuses what is accepted as soon as one bit of it is another", () =>
    Effect.gen(function* () {
      const flipped = (hex: string, byte: number) => {
        const copy = bytes(hex)
        copy[byte]! ^= 1
        return Buffer.from(copy).toString("hex")
      }
      for (const vector of vectors.filter((candidate) => ANSWERS[nameOf(candidate)]![1] === accepted)) {
        const { authentication } = vector
        for (const member of ["clientDataJSON", "authenticatorData", "signature"] as const) {
          const length = authentication[member].length / 2
          for (let byte = 0; byte < length; byte += 7) {
            const altered = { ...authentication, [member]: flipped(authentication[member], byte) }
            const exit = yield* Effect.exit(authenticate({ ...vector, authentication: altered }))
            assert.isTrue(Exit.isFailure(exit), `${nameOf(vector)} ${member} byte ${byte}`)
          }
        }
      }
    })
  )
})
