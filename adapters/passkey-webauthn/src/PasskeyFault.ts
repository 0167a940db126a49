/**
 * Why a passkey is refused (part 6): the `reason` of a `PasskeyRefused`. `library_refused` stands for whatever the
 * library's own checks find; its error is the redacted `cause`.
 */
export type PasskeyFault =
  | "library_refused"
  | "bytes_not_base64url"
  | "credential_id_invalid"
  | "credential_id_mismatch"
  | "client_data_malformed"
  | "cross_origin"
  | "top_origin"
  | "attestation_not_accepted"
  | "public_key_not_accepted"
  | "authenticator_data_malformed"
  | "backup_eligibility_changed"
  | "user_handle_mismatch"
  | "signature_malformed"
  | "signature_invalid"
