import type { MandateTerms } from "../mandate/JournalFact.ts"
import type { ApprovalSessionState, PasskeyRecord } from "./ApprovalSessionState.ts"
import type { ApprovalRecord, ApprovalStatement } from "./ApprovalStatement.ts"
import type { AuthenticationResponse } from "./PasskeyResponse.ts"

/** The statement that a session's passkey is asked to sign (part 6). */
export const approvalStatement = (input: {
  readonly sessionId: string
  readonly terms: MandateTerms
  readonly organizationName: string
  readonly display: ApprovalStatement["display"]
  readonly nonce: string
}): ApprovalStatement => {
  const { terms } = input
  return {
    approval_session_id: input.sessionId,
    environment: terms.environment,
    organization_id: terms.organization_id,
    organization_name: input.organizationName,
    mandate_id: terms.mandate_id,
    subject_reference: terms.subject_reference,
    kind: terms.kind,
    policy: terms.policy,
    policy_digest: terms.policy_digest,
    window: terms.window,
    approval_deadline: terms.approval_deadline,
    ...(terms.description === undefined ? {} : { description: terms.description }),
    display: input.display,
    nonce: input.nonce
  }
}

/** The proof of a verified approval, as the journal keeps it (part 6). */
export const approvalRecord = (input: {
  readonly statement: ApprovalStatement
  readonly response: AuthenticationResponse
  readonly passkey: PasskeyRecord
  readonly session: ApprovalSessionState
  readonly rpId: string
  readonly origin: string
}): ApprovalRecord => {
  const { statement, passkey, session } = input
  const { response } = input.response
  return {
    statement,
    rp_id: input.rpId,
    origin: input.origin,
    authenticator_data: response.authenticatorData,
    client_data_json: response.clientDataJSON,
    signature: response.signature,
    ...(response.userHandle === undefined ? {} : { user_handle: response.userHandle }),
    credential: {
      id: passkey.credentialId,
      passkey_id: passkey.id,
      public_key: passkey.publicKey,
      algorithm: passkey.algorithm,
      backup_eligible: passkey.backupEligible,
      enrolled_at: passkey.enrolledAt,
      enrolled_in_this_session: passkey.id === session.provisionalPasskey?.id
    },
    identity: {
      issuer: session.identity.issuer,
      jti: session.identity.jti,
      assertion_sha256: session.identity.assertionSha256
    }
  }
}
