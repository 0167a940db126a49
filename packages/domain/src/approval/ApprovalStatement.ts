import type { MandateKind, Policy, Window } from "@svc/protocol/Mandate"

/** One line of the statement that the approval page shows and the passkey signs. */
export interface DisplayLine {
  readonly label: string
  readonly value: string
}

/** The statement that the passkey signs (part 6): the mandate, and exactly the lines that were shown. */
export interface ApprovalStatement {
  readonly approval_session_id: string
  readonly environment: "test" | "live"
  readonly organization_id: string
  readonly organization_name: string
  readonly mandate_id: string
  readonly subject_reference: string
  readonly kind: MandateKind
  readonly policy: Policy
  readonly policy_digest: string
  readonly window: Window
  readonly approval_deadline: string
  readonly description?: string
  readonly display: { readonly locale: string; readonly lines: ReadonlyArray<DisplayLine> }
  readonly nonce: string
}

/**
 * The proof of approval in `mandate.approved` (part 6): everything that is needed to verify the passkey's signature offline.
 * Bytes are base64url.
 */
export interface ApprovalRecord {
  readonly statement: ApprovalStatement
  readonly rp_id: string
  readonly origin: string
  readonly authenticator_data: string
  readonly client_data_json: string
  readonly signature: string
  readonly user_handle?: string
  readonly credential: {
    readonly id: string
    readonly passkey_id: string
    readonly public_key: string
    readonly algorithm: number
    readonly backup_eligible: boolean
    readonly enrolled_at: string
    readonly enrolled_in_this_session: boolean
  }
  readonly identity: { readonly issuer: string; readonly jti: string; readonly assertion_sha256: string }
}
