import type { IdentitySettings } from "@svc/domain/organization/Organization"
import {
  IdentityAssertionRefused,
  IdentityKeysUnavailable,
  IdentityVerifier,
  type VerifiedIdentity
} from "@svc/domain/ports/IdentityVerifier"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { type Instant, NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect, Layer } from "effect"

/** The end user that a host has recognized by an `identity_assertion`. */
export interface HostIdentity {
  /** The subject reference, which must be that of the mandate. */
  readonly subject: string
  /** Identifier of the assertion, which opens one approval session. Default: a hash of its text. */
  readonly jti?: string
  /** When the assertion expires. Default: in 5 minutes. */
  readonly expiresAt?: Date
  /** Whether a subject who has a passkey may register another one, where the organization lets the caller say so. */
  readonly enrolmentAllowed?: boolean
}

/** Recognizes the end user of an `identity_assertion`, any text of up to 16,384 characters; `undefined` refuses it. */
export type Identify = (assertion: string, organization: string) => Promise<HostIdentity | null | undefined>

/** How long an assertion is taken for valid unless the host says so, in seconds. */
const DEFAULT_LIFETIME_SECONDS = 300n

/** `Retry-After` of an approval session whose assertion could not be looked at, in seconds. */
const RETRY_AFTER_SECONDS = 1

/** The settings of an organization whose host identifies its end users, which name no keys. */
export const identityOfHost = (issuer: string): IdentitySettings => ({
  issuer,
  audience: issuer,
  algorithms: [],
  keys: { jwks: { keys: [] } }
})

const digestOf = async (text: string): Promise<string> =>
  encodeBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))))

const verifiedOf = async (
  identity: HostIdentity,
  assertion: string,
  { issuer, now }: { readonly issuer: string; readonly now: Instant }
): Promise<VerifiedIdentity> => ({
  issuer,
  subject: identity.subject,
  jti: identity.jti ?? (await digestOf(assertion)),
  expiresAt:
    identity.expiresAt === undefined
      ? now + DEFAULT_LIFETIME_SECONDS * NANOS_PER_SECOND
      : BigInt(identity.expiresAt.getTime()) * NANOS_PER_MILLISECOND,
  enrolmentAllowed: identity.enrolmentAllowed ?? false
})

/** End users as the host recognizes them. A host that cannot tell now, because `identify` rejects, is tried again. */
export const hostIdentityLayer = (identify: Identify): Layer.Layer<IdentityVerifier> =>
  Layer.succeed(IdentityVerifier, {
    verify: ({ assertion, now, organization, settings }) =>
      Effect.tryPromise({
        try: async () => {
          const identity = await identify(assertion, organization)
          return identity
            ? await verifiedOf(identity, assertion, { issuer: settings.issuer, now })
            : undefined
        },
        catch: (cause) => new IdentityKeysUnavailable({ cause, retryAfterSeconds: RETRY_AFTER_SECONDS })
      }).pipe(
        Effect.flatMap((verified) =>
          verified === undefined || verified.expiresAt <= now
            ? Effect.fail(new IdentityAssertionRefused({ reason: "refused by the host" }))
            : Effect.succeed(verified)
        )
      )
  })
