/** Signed evidence of a mandate: a flattened JWS with a format. Verify it before you decode or trust the payload. */
export interface EvidenceEnvelope {
  readonly format: "svc.evidence.v1"
  readonly protected: string
  readonly payload: string
  readonly signature: string
}

/**
 * What followed the event that was asked for: the same envelope under a format of its own. Its payload has `after` (`seq` and
 * `hash`) beside the later `events`: it continues what you have if that is the event that you have.
 */
export interface EvidenceContinuation extends Omit<EvidenceEnvelope, "format"> {
  readonly format: "svc.evidence.continuation.v1"
}

/** A public key that evidence is verified with. */
export interface SigningKey {
  readonly kty: "EC"
  readonly crv: "P-256"
  readonly use: "sig"
  readonly alg: "ES256"
  readonly kid: string
  readonly x: string
  readonly y: string
}

/** The public keys of a service (a JWK set), those of earlier evidence included. */
export interface KeySet {
  readonly keys: ReadonlyArray<SigningKey>
}
