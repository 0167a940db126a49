import { type ExternalSigner, type PublicP256Jwk, signatureFromDer } from "svc"

/** A key of a KMS, whose client signs a SHA-256 digest and gives DER, as those of AWS and Google do. */
export const kmsSigner = (
  publicJwk: PublicP256Jwk,
  signDigest: (digest: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>
): ExternalSigner => ({
  publicJwk,
  sign: async ({ digest, signal }) => signatureFromDer(await signDigest(digest, signal))
})
