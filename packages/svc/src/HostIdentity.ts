import type { IdentitySettings } from "@svc/domain/organization/Organization"
import {
  IdentityAssertionRefused,
  IdentityKeysUnavailable,
  IdentityVerifier,
  type VerifiedIdentity
} from "@svc/domain/ports/IdentityVerifier"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { type Instant, NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { type Duration, Effect, Layer } from "effect"

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

/** That a host does not vouch for an assertion, and why. */
export interface HostRefusal {
  /** A sentence for the caller, who reads it as the `detail` of `identity_assertion_invalid`. 1 to 255 characters. */
  readonly refused: string
}

/**
 * Recognizes the end user of an `identity_assertion`, any text of up to 16,384 characters. `undefined`, or the reason as
 * `refused`, refuses it; if it rejects, the caller is told to try again.
 */
export type Identify = (
  assertion: string,
  organization: string
) => Promise<HostIdentity | HostRefusal | null | undefined>

/** How long an assertion is taken for valid unless the host says so, in seconds. */
const DEFAULT_LIFETIME_SECONDS = 300n

/** Longest that `identify` is waited for. */
const IDENTIFY_TIMEOUT: Duration.Input = "10 seconds"

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
  enrolmentAllowed: identity.enrolmentAllowed === true
})

/** Longest reason of a refusal, in characters. */
const MAX_REASON_CHARACTERS = 255

const UNKNOWN = "The identity assertion is of nobody whom this service's host recognizes."
const EXPIRED = "The identity assertion has expired."

/** What a host without a compiler may have returned by mistake, which is its fault and not the caller's. */
const checkReturned = (returned: HostIdentity | HostRefusal): void => {
  const isValid =
    "refused" in returned
      ? typeof returned.refused === "string" &&
        returned.refused !== "" &&
        returned.refused.length <= MAX_REASON_CHARACTERS
      : typeof returned.subject === "string" &&
        (returned.jti === undefined || typeof returned.jti === "string") &&
        (returned.enrolmentAllowed === undefined || typeof returned.enrolmentAllowed === "boolean") &&
        (returned.expiresAt === undefined ||
          (returned.expiresAt instanceof Date && !Number.isNaN(returned.expiresAt.getTime())))
  if (!isValid)
    throw new TypeError(
      "identify must resolve with a subject (and jti, expiresAt, enrolmentAllowed) of the documented types, with { refused: text }, or with undefined"
    )
}

const refusal = (reason: string, detail: string) =>
  Effect.fail(new IdentityAssertionRefused({ reason, detail }))

/** End users as the host recognizes them. A host that cannot tell now, because `identify` rejects, is tried again. */
export const hostIdentityLayer = (identify: Identify): Layer.Layer<IdentityVerifier> =>
  Layer.succeed(IdentityVerifier, {
    verify: ({ assertion, now, organization, settings }) =>
      Effect.gen(function* () {
        const returned = yield* Effect.tryPromise({
          try: async () => identify(assertion, organization),
          catch: (cause) => new IdentityKeysUnavailable({ cause, retryAfterSeconds: RETRY_AFTER_SECONDS })
        }).pipe(
          Effect.timeoutOrElse({
            duration: IDENTIFY_TIMEOUT,
            orElse: () =>
              Effect.fail(
                new IdentityKeysUnavailable({
                  cause: "identify has not resolved in time",
                  retryAfterSeconds: RETRY_AFTER_SECONDS
                })
              )
          })
        )
        if (!returned) return yield* refusal("not recognized by the host", UNKNOWN)
        // A defect, which is logged and answered as an internal error.
        yield* Effect.sync(() => checkReturned(returned))
        if ("refused" in returned) return yield* refusal("refused by the host", returned.refused)
        const verified = yield* Effect.promise(() =>
          verifiedOf(returned, assertion, { issuer: settings.issuer, now })
        )
        return verified.expiresAt > now ? verified : yield* refusal("expired for the host", EXPIRED)
      })
  })
