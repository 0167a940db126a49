import type { Instant } from "@svc/protocol/Timestamp"
import { Context, Data, type Effect, type Redacted } from "effect"
import type { IdentitySettings } from "../Organization.ts"

/** The assertion does not meet what the organization configured. */
export class IdentityAssertionRefused extends Data.TaggedError("IdentityAssertionRefused")<{
  /** A word of the adapter's own, for the log: it quotes nothing of the assertion. */
  readonly reason: string
  /** What a library said. It may quote the assertion, so neither logs nor traces may show it. */
  readonly cause?: Redacted.Redacted<unknown>
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
      readonly assertion: string
      readonly settings: IdentitySettings
      readonly now: Instant
    }) => Effect.Effect<VerifiedIdentity, IdentityAssertionRefused>
  }
>()("@svc/domain/ports/IdentityVerifier") {}
