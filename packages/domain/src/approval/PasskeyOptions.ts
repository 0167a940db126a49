import type { JsonObject } from "@svc/protocol/json/Json"
import type { PasskeyRecord } from "./ApprovalSessionState.ts"

/** COSE algorithms that a passkey may have, in order of preference: ES256, EdDSA, RS256 (part 6). */
export const PASSKEY_ALGORITHMS = [-7, -8, -257] as const

/** PublicKeyCredentialCreationOptionsJSON (WebAuthn Level 3, section 5.1.9). `timeout` is in milliseconds. */
export const creationOptions = (input: {
  readonly rpId: string
  readonly organizationName: string
  readonly userHandle: string
  readonly challenge: string
  readonly timeout: number
}): JsonObject => ({
  rp: { id: input.rpId, name: input.organizationName },
  user: { id: input.userHandle, name: input.organizationName, displayName: input.organizationName },
  challenge: input.challenge,
  pubKeyCredParams: PASSKEY_ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
  timeout: input.timeout,
  excludeCredentials: [],
  authenticatorSelection: {
    residentKey: "required",
    requireResidentKey: true,
    userVerification: "required"
  },
  attestation: "none"
})

/** PublicKeyCredentialRequestOptionsJSON (WebAuthn Level 3, section 5.1.10). `timeout` is in milliseconds. */
export const requestOptions = (input: {
  readonly rpId: string
  readonly passkeys: ReadonlyArray<PasskeyRecord>
  readonly challenge: string
  readonly timeout: number
}): JsonObject => ({
  challenge: input.challenge,
  rpId: input.rpId,
  timeout: input.timeout,
  allowCredentials: input.passkeys.map((passkey) => ({ type: "public-key", id: passkey.credentialId })),
  userVerification: "required"
})
