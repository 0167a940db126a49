import type { Instant } from "@svc/protocol/Timestamp"
import { Context, Data, type Effect, type Redacted } from "effect"
import type { IdentitySettings } from "../organization/Organization.ts"

/** The assertion does not meet what the organization configured. */
export class IdentityAssertionRefused extends Data.TaggedError("IdentityAssertionRefused")<{
  /** A word of the adapter's own, for the log: it quotes nothing of the assertion. */
  readonly reason: string
  /** Why, in a sentence for the caller: it quotes nothing of the assertion and tells nothing of the inside. */
  readonly detail?: string
  /** The error of a library. It may quote the assertion, so neither logs nor traces may show it. */
  readonly cause?: Redacted.Redacted<unknown>
}> {}

/**
 * The keys at the organization's `jwks_uri` cannot be had now. Nothing is said of the assertion: the same one may be
 * accepted a moment later.
 */
export class IdentityKeysUnavailable extends Data.TaggedError("IdentityKeysUnavailable")<{
  /** For the log only; it quotes nothing of the assertion. */
  readonly cause: unknown
  readonly retryAfterSeconds: number
}> {}

export interface VerifiedIdentity {
  readonly issuer: string
  readonly subject: string
  readonly jti: string
  readonly expiresAt: Instant
  /** Whether the assertion carries `svc_enrol: true`. */
  readonly enrolmentAllowed: boolean
}

/** Verifies identity assertions (part 6). */
export class IdentityVerifier extends Context.Service<
  IdentityVerifier,
  {
    readonly verify: (input: {
      /** The organization of the assertion: a key set fetched for one organization serves no other. */
      readonly organization: string
      readonly assertion: string
      readonly settings: IdentitySettings
      readonly now: Instant
    }) => Effect.Effect<VerifiedIdentity, IdentityAssertionRefused | IdentityKeysUnavailable>
  }
>()("@svc/domain/ports/IdentityVerifier") {}
