/** Signed evidence of a mandate: a flattened JWS with a format. Verify it before you decode or trust the payload. */
export interface EvidenceEnvelope {
  readonly format: "svc.evidence.v1"
  readonly protected: string
  readonly payload: string
  readonly signature: string
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
