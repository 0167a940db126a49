import { Context, Data, type Effect, type Redacted } from "effect"
import type { AuthenticationResponse, RegistrationResponse } from "../approval/PasskeyResponse.ts"

/** The passkey's response does not verify. */
export class PasskeyRefused extends Data.TaggedError("PasskeyRefused")<{
  /** A reason in the adapter's own words, for the log. It quotes nothing of the response. */
  readonly reason: string
  /** The error of a library. It may quote the response, so neither logs nor traces may show it. */
  readonly cause?: Redacted.Redacted<unknown>
}> {}

/** The relying party as the deployment configures it; never derived from a request (part 6). */
export interface RelyingParty {
  readonly rpId: string
  readonly origin: string
}

export interface VerifiedRegistration {
  readonly credentialId: string
  readonly publicKey: string
  readonly algorithm: number
  readonly counter: number
  readonly backupEligible: boolean
}

export interface VerifiedAssertion {
  /** The authenticator's signature counter. */
  readonly counter: number
}

/** Verifies passkey responses (WebAuthn Level 3, sections 7.1 and 7.2, and the extra checks of part 6). */
export class PasskeyVerifier extends Context.Service<
  PasskeyVerifier,
  {
    readonly verifyRegistration: (input: {
      readonly response: RegistrationResponse
      /** base64url of the challenge bytes. */
      readonly challenge: string
      readonly relyingParty: RelyingParty
    }) => Effect.Effect<VerifiedRegistration, PasskeyRefused>
    readonly verifyAssertion: (input: {
      readonly response: AuthenticationResponse
      readonly challenge: string
      readonly relyingParty: RelyingParty
      /** The credential on record that the response must be of. */
      readonly credential: {
        readonly credentialId: string
        readonly publicKey: string
        readonly counter: number
        readonly backupEligible: boolean
      }
      /** The subject's `user.id`, base64url: a user handle in the response must equal it. */
      readonly userHandle: string
    }) => Effect.Effect<VerifiedAssertion, PasskeyRefused>
  }
>()("@svc/domain/ports/PasskeyVerifier") {}
