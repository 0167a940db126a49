import type { Environment } from "../mandate/JournalFact.ts"

/** The algorithms that identity assertions may be signed with (part 6). */
export const IDENTITY_ALGORITHMS = ["ES256", "EdDSA", "PS256", "RS256"] as const
export type IdentityAlgorithm = (typeof IDENTITY_ALGORITHMS)[number]

/** What an identity assertion of the organization must meet (part 6). */
export interface IdentitySettings {
  readonly issuer: string
  readonly audience: string
  readonly algorithms: ReadonlyArray<IdentityAlgorithm>
  /** Where the organization's public keys are: inline, or at an HTTPS address. */
  readonly keys: { readonly jwks: { readonly keys: ReadonlyArray<object> } } | { readonly jwksUri: string }
}

/** Longest name of an organization, in code points. */
const MAX_NAME_CHARACTERS = 255

/** Whether a text can be the name of an organization: 1 to 255 characters, none of them a control character. */
export const isOrganizationName = (name: string): boolean =>
  name !== "" && [...name].length <= MAX_NAME_CHARACTERS && name.isWellFormed() && !/\p{Cc}/u.test(name)

/** Longest time after `execute_before` in which an outcome may still be reported, in seconds (part 9). */
export const REPORT_GRACE_MAX_SECONDS = 3600

/** An organization and its settings (part 9). */
export interface Organization {
  readonly id: string
  readonly environment: Environment
  readonly name: string
  readonly billingAccountReference?: string
  readonly identity?: IdentitySettings
  /** Origins that a `return_url` may have, as WHATWG URL serializes them. */
  readonly returnOrigins: ReadonlyArray<string>
  /** How long after `execute_before` an outcome may still be reported: 0 to `REPORT_GRACE_MAX_SECONDS`. */
  readonly reportGraceSeconds: number
  readonly passkeyEnrolment: "FIRST_USE" | "CALLER_ALLOWED"
}

/** What an API key may be for (part 9). */
export const API_KEY_SCOPES = ["read", "write", "webhooks"] as const
export type ApiKeyScope = (typeof API_KEY_SCOPES)[number]

/** An API key as stored: by hash, never in clear (part 9). */
export interface ApiKey {
  readonly id: string
  readonly organizationId: string
  /** base64url SHA-256 of the whole key text. */
  readonly hash: string
  readonly scopes: ReadonlyArray<ApiKeyScope>
  /** RFC 3339 UTC. */
  readonly createdAt: string
  readonly expiresAt?: string
  readonly revokedAt?: string
  /** The id of the key that a rotation put in its place. `expiresAt` is then the end of the overlap, no life granted. */
  readonly replacedBy?: string
}
