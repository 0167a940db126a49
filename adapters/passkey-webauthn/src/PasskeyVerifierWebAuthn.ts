import { verifyAuthenticationResponse, verifyRegistrationResponse } from "@simplewebauthn/server"
import { decodeAttestationObject } from "@simplewebauthn/server/helpers"
import type { AuthenticationResponse, RegistrationResponse } from "@svc/domain/approval/PasskeyResponse"
import {
  PasskeyRefused,
  PasskeyVerifier,
  type VerifiedAssertion,
  type VerifiedRegistration
} from "@svc/domain/ports/PasskeyVerifier"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { rawEcdsaSignature } from "@svc/protocol/crypto/EcdsaSignature"
import { Effect, Layer, Redacted, Result } from "effect"
import { checkClientData } from "./ClientData.ts"
import { ACCEPTED_ALGORITHMS, acceptedAlgorithm, ES256 } from "./CredentialKey.ts"
import type { PasskeyFault } from "./PasskeyFault.ts"

/** Longest credential id, in bytes (WebAuthn Level 3 section 7.1). */
const MAX_CREDENTIAL_ID_BYTES = 1023

const FLAGS_OFFSET = 32
const MIN_AUTHENTICATOR_DATA_BYTES = 37
const BACKUP_ELIGIBLE = 0x08

type VerifyRegistration = PasskeyVerifier["Service"]["verifyRegistration"]
type VerifyAssertion = PasskeyVerifier["Service"]["verifyAssertion"]
type AssertionInput = Parameters<VerifyAssertion>[0]
type Checked<A> = Result.Result<A, PasskeyFault>

const refused = (reason: PasskeyFault): PasskeyRefused => new PasskeyRefused({ reason })

/** Refuses the passkey on whatever the library throws or rejects with. */
const attempt = <A>(run: () => A | Promise<A>): Effect.Effect<A, PasskeyRefused> =>
  Effect.tryPromise({
    try: async () => run(),
    catch: (cause) =>
      new PasskeyRefused({ reason: "library_refused" satisfies PasskeyFault, cause: Redacted.make(cause) })
  })

const checked = <A>(result: Checked<A>): Effect.Effect<A, PasskeyRefused> =>
  Effect.mapError(Effect.fromResult(result), refused)

const ensure = (holds: boolean, fault: PasskeyFault): Effect.Effect<void, PasskeyRefused> =>
  holds ? Effect.void : Effect.fail(refused(fault))

const bytesOf = (text: string): Checked<Uint8Array> => {
  const bytes = decodeBase64Url(text)
  return bytes === undefined ? Result.fail("bytes_not_base64url") : Result.succeed(bytes)
}

const checkCredentialId = (response: RegistrationResponse | AuthenticationResponse): Checked<void> => {
  const id = decodeBase64Url(response.id)
  if (id === undefined || id.length < 1 || id.length > MAX_CREDENTIAL_ID_BYTES) {
    return Result.fail("credential_id_invalid")
  }
  return response.id === response.rawId ? Result.void : Result.fail("credential_id_mismatch")
}

/**
 * Only `none`, which is what we ask for, and the self attestation that browsers leave in place then
 * (WebAuthn Level 3 section 5.4.7). The rest is refused before the library follows certificates, some
 * of which make it fetch revocation lists from addresses that they name.
 */
const checkAttestation = (attestationObject: Uint8Array): Checked<void> => {
  const decoded = decodeAttestationObject(Uint8Array.from(attestationObject))
  const format = decoded.get("fmt")
  if (format === "none") return Result.void
  return format === "packed" && decoded.get("attStmt").get("x5c") === undefined
    ? Result.void
    : Result.fail("attestation_not_accepted")
}

const verifyRegistration: VerifyRegistration = Effect.fn("PasskeyVerifier.verifyRegistration")(function* ({
  response,
  challenge,
  relyingParty
}) {
  yield* checked(checkCredentialId(response))
  yield* checked(checkClientData(yield* checked(bytesOf(response.response.clientDataJSON))))
  const attestation = yield* checked(bytesOf(response.response.attestationObject))
  yield* checked(yield* attempt(() => checkAttestation(attestation)))
  const { registrationInfo } = yield* attempt(() =>
    verifyRegistrationResponse({
      response: {
        id: response.id,
        rawId: response.rawId,
        type: response.type,
        clientExtensionResults: {},
        response: {
          clientDataJSON: response.response.clientDataJSON,
          attestationObject: response.response.attestationObject
        }
      },
      expectedChallenge: challenge,
      expectedOrigin: relyingParty.origin,
      expectedRPID: relyingParty.rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: [...ACCEPTED_ALGORITHMS]
    })
  )
  if (registrationInfo === undefined) return yield* Effect.fail(refused("signature_invalid"))
  const { credential, credentialDeviceType } = registrationInfo
  yield* ensure(credential.id === response.id, "credential_id_mismatch")
  const algorithm = yield* attempt(() => acceptedAlgorithm(credential.publicKey))
  if (algorithm === undefined) return yield* Effect.fail(refused("public_key_not_accepted"))
  return {
    credentialId: credential.id,
    publicKey: encodeBase64Url(credential.publicKey),
    algorithm,
    counter: credential.counter,
    backupEligible: credentialDeviceType === "multiDevice"
  } satisfies VerifiedRegistration
})

/** Checks what the library does not about an assertion; none of it needs the signature. */
const checkAssertion = ({ response, credential, userHandle }: AssertionInput): Checked<Uint8Array> =>
  Result.gen(function* () {
    yield* checkCredentialId(response)
    if (response.id !== credential.credentialId) return yield* Result.fail("credential_id_mismatch" as const)
    yield* checkClientData(yield* bytesOf(response.response.clientDataJSON))
    const handle = response.response.userHandle
    if (handle !== undefined && handle !== userHandle) {
      return yield* Result.fail("user_handle_mismatch" as const)
    }
    const authenticatorData = yield* bytesOf(response.response.authenticatorData)
    if (authenticatorData.length < MIN_AUTHENTICATOR_DATA_BYTES) {
      return yield* Result.fail("authenticator_data_malformed" as const)
    }
    const backupEligible = (authenticatorData[FLAGS_OFFSET]! & BACKUP_ELIGIBLE) !== 0
    if (backupEligible !== credential.backupEligible) {
      return yield* Result.fail("backup_eligibility_changed" as const)
    }
    return yield* bytesOf(response.response.signature)
  })

const verifyAssertion: VerifyAssertion = Effect.fn("PasskeyVerifier.verifyAssertion")(function* (input) {
  const { response, challenge, relyingParty, credential } = input
  const signature = yield* checked(checkAssertion(input))
  const publicKey = yield* checked(bytesOf(credential.publicKey))
  const algorithm = yield* attempt(() => acceptedAlgorithm(publicKey))
  yield* ensure(algorithm !== undefined, "public_key_not_accepted")
  yield* ensure(algorithm !== ES256 || rawEcdsaSignature(signature) !== undefined, "signature_malformed")
  const { verified, authenticationInfo } = yield* attempt(() =>
    verifyAuthenticationResponse({
      response: {
        id: response.id,
        rawId: response.rawId,
        type: response.type,
        clientExtensionResults: {},
        response: {
          clientDataJSON: response.response.clientDataJSON,
          authenticatorData: response.response.authenticatorData,
          signature: response.response.signature
        }
      },
      expectedChallenge: challenge,
      expectedOrigin: relyingParty.origin,
      expectedRPID: relyingParty.rpId,
      requireUserVerification: true,
      credential: {
        id: credential.credentialId,
        publicKey: Uint8Array.from(publicKey),
        counter: credential.counter
      }
    })
  )
  yield* ensure(verified, "signature_invalid")
  return { counter: authenticationInfo.newCounter } satisfies VerifiedAssertion
})

/**
 * Verifies passkeys with SimpleWebAuthn, and checks what it leaves unchecked (part 6). Algorithms -7, -8
 * and -257, user verification required, exact rp id and origin, no attestation but self attestation.
 */
export const layer: Layer.Layer<PasskeyVerifier> = Layer.succeed(
  PasskeyVerifier,
  PasskeyVerifier.of({ verifyRegistration, verifyAssertion })
)
