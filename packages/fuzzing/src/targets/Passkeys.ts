import type { AuthenticationResponse, RegistrationResponse } from "@svc/domain/approval/PasskeyResponse"
import { PasskeyRefused, PasskeyVerifier } from "@svc/domain/ports/PasskeyVerifier"
import { layer } from "@svc/passkey-webauthn/PasskeyVerifierWebAuthn"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { rawEcdsaSignature } from "@svc/protocol/crypto/EcdsaSignature"
import { seededBytes } from "@svc/testkit/ProgramHarness"
import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import { Cause, Effect, Exit } from "effect"
import { demand, type FuzzTarget, partsOf } from "../FuzzTarget.ts"

const relyingParty = { rpId: "approve.example", origin: "https://approve.example" }
const challenge = encodeBase64Url(new Uint8Array(32).fill(7))
const userHandle = encodeBase64Url(new Uint8Array(32).fill(9))

const passkey = makeSoftwarePasskey({ origin: relyingParty.origin, random: seededBytes(1) })
const registration = passkey.register({
  challenge,
  rp: { id: relyingParty.rpId },
  user: { id: userHandle },
  pubKeyCredParams: [{ alg: -7 }]
})
const assertion = passkey.authenticate({ challenge, rpId: relyingParty.rpId })

const latin1 = (text: string): string => Buffer.from(text, "base64url").toString("latin1")
const encoded = (text = ""): string => encodeBase64Url(Uint8Array.from(Buffer.from(text, "latin1")))

/** What is verified, or undefined for what is refused. Anything else is a fault. */
const outcome = async <A>(
  verified: Effect.Effect<A, PasskeyRefused, PasskeyVerifier>
): Promise<A | undefined> => {
  const exit = await Effect.runPromiseExit(Effect.provide(verified, layer))
  if (Exit.isSuccess(exit)) return exit.value
  const error = Cause.findErrorOption(exit.cause)
  demand(error._tag === "Some" && error.value instanceof PasskeyRefused, Cause.pretty(exit.cause))
  return undefined
}

const verifyRegistration = (response: RegistrationResponse) =>
  outcome(
    PasskeyVerifier.use((verifier) => verifier.verifyRegistration({ response, challenge, relyingParty }))
  )

const first = await verifyRegistration(registration)
if (first === undefined) throw new Error("a registration that is right is refused")

const joined = (...parts: ReadonlyArray<string>): Uint8Array =>
  Uint8Array.from(Buffer.from(parts.join("\n%%\n"), "latin1"))

const words = [
  "\xa0",
  "\xa1",
  "\xbf",
  "\x9f",
  "\xff",
  "\x5f",
  "\x1b\xff\xff\xff\xff\xff\xff\xff\xff",
  "\x5b\x7f\xff\xff\xff\xff\xff\xff\xff",
  "\xfb\x7f\xf8\x00\x00\x00\x00\x00\x00",
  "\xc2\x41\x00",
  "\xd8\x1c",
  "\x63fmt\x64none",
  "\x67attStmt\xa0",
  "\x68authData",
  "packed",
  "x5c",
  "webauthn.create",
  "webauthn.get",
  challenge,
  '"crossOrigin":true',
  '"topOrigin":',
  "\n%%\n"
].map((text) => Uint8Array.from(Buffer.from(text, "latin1")))

const asText = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

/** Registrations: client data as JSON, and the attestation object as CBOR. */
export const passkeyRegistrations: FuzzTarget = {
  seeds: [
    joined(latin1(registration.response.clientDataJSON), latin1(registration.response.attestationObject))
  ],
  words: words.map(asText),
  run: async (input) => {
    const [clientData, ...rest] = partsOf(input)
    const verified = await verifyRegistration({
      id: registration.id,
      rawId: registration.rawId,
      type: "public-key",
      response: { clientDataJSON: encoded(clientData), attestationObject: encoded(rest.join("\n%%\n")) }
    })
    if (verified === undefined) return
    demand(verified.credentialId === registration.id, "another credential is registered")
    demand([-7, -8, -257].includes(verified.algorithm), "an algorithm is taken that was not asked for")
  }
}

/** Assertions: client data, authenticator data and signature. Only what the passkey signed may be taken. */
export const passkeyAssertions: FuzzTarget = {
  seeds: [
    joined(
      latin1(assertion.response.clientDataJSON),
      latin1(assertion.response.authenticatorData),
      latin1(assertion.response.signature)
    )
  ],
  words: words.map(asText),
  run: async (input) => {
    const [clientData, authenticatorData, ...rest] = partsOf(input)
    const signature = rest.join("\n%%\n")
    const der = Uint8Array.from(Buffer.from(signature, "latin1"))
    const raw = rawEcdsaSignature(der)
    demand(raw === undefined || raw.length === 64, "a signature has other bytes")
    const response: AuthenticationResponse = {
      id: assertion.id,
      rawId: assertion.rawId,
      type: "public-key",
      response: {
        clientDataJSON: encoded(clientData),
        authenticatorData: encoded(authenticatorData),
        signature: encoded(signature)
      }
    }
    const verified = await outcome(
      PasskeyVerifier.use((verifier) =>
        verifier.verifyAssertion({ response, challenge, relyingParty, credential: first, userHandle })
      )
    )
    if (verified === undefined) return
    const { authenticatorData: data, clientDataJSON } = response.response
    demand(
      clientDataJSON === assertion.response.clientDataJSON && data === assertion.response.authenticatorData,
      "what the passkey did not sign is taken"
    )
  }
}
