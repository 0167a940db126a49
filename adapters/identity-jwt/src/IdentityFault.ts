/**
 * Why an identity assertion is refused, in the order of the checks. It is the `reason` of an
 * `IdentityAssertionRefused` and quotes nothing of the assertion.
 */
export type IdentityFault =
  | "too_long"
  | "not_compact_jws"
  | "header_malformed"
  | "header_member_refused"
  | "algorithm_not_allowed"
  | "kid_malformed"
  | "keys_unavailable"
  | "key_unknown"
  | "key_ambiguous"
  | "key_unsuitable"
  | "signature_invalid"
  | "payload_malformed"
  | "issuer_mismatch"
  | "audience_mismatch"
  | "subject_malformed"
  | "jti_malformed"
  | "time_malformed"
  | "lifetime_out_of_bounds"
  | "expired"
  | "issued_in_the_future"
  | "not_yet_valid"
