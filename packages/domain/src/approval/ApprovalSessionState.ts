import type { Instant } from "@svc/protocol/Timestamp"
import type { ApprovalStatement } from "./ApprovalStatement.ts"

/** A passkey of a subject, or a provisional one of a session. Bytes are base64url. */
export interface PasskeyRecord {
  readonly id: string
  readonly credentialId: string
  /** COSE key. */
  readonly publicKey: string
  /** COSE algorithm number. */
  readonly algorithm: number
  readonly counter: number
  readonly backupEligible: boolean
  /** RFC 3339 UTC. */
  readonly enrolledAt: string
  readonly lastUsedAt?: string
  readonly retiredAt?: string
}

/**
 * The passkeys of a subject of an organization. Its revision orders enrolment, use and retirement across mandates.
 */
export interface SubjectCredentials {
  readonly revision: number
  /** WebAuthn `user.id`: base64url of 32 random bytes. */
  readonly userHandle: string
  /** Retired ones stay on record. */
  readonly passkeys: ReadonlyArray<PasskeyRecord>
}

/** The open challenge of a session, valid for one attempt. */
export type OpenChallenge =
  | { readonly step: "register"; readonly challenge: string }
  | { readonly step: "approve"; readonly challenge: string; readonly statement: ApprovalStatement }

/** An approval session as stored. The token is kept as a hash and sealed, never in clear. */
export interface ApprovalSessionState {
  readonly id: string
  readonly organizationId: string
  readonly mandateId: string
  readonly subjectReference: string
  /** Expiry follows from the time and is not recorded here. */
  readonly state: "OPEN" | "COMPLETED" | "REJECTED" | "SUPERSEDED"
  readonly createdAt: Instant
  readonly expiresAt: Instant
  /** base64url SHA-256 of the token. */
  readonly tokenHash: string
  readonly sealedToken: string
  readonly returnUrl: string
  readonly returnState: string
  /**
   * What lets this session enrol a passkey while the subject has none: the organization's `FIRST_USE`, which ends with
   * the subject's first passkey, or the identity assertion's claim.
   */
  readonly enrolment: "FIRST_USE" | "CLAIMED" | "NONE"
  readonly identity: { readonly issuer: string; readonly jti: string; readonly assertionSha256: string }
  /** base64url SHA-256 of the cookie of the browser that began the ceremony. */
  readonly boundTo?: string
  readonly challenge?: OpenChallenge
  readonly provisionalPasskey?: PasskeyRecord
}
