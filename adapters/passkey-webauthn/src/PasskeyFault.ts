/**
 * What our own checks find, beyond those of the library (part 6). It is the `cause` of a
 * `PasskeyRefused`; where the library refuses, its error is.
 */
export type PasskeyFault =
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
