const P256 = { name: "ECDSA", namedCurve: "P-256" } as const

/** Whether a signature of 64 bytes, R then S, is that of a key over the data; undefined if the key is no point on P-256. */
export const verifyEs256 = async (input: {
  /** An uncompressed point of 65 bytes. */
  readonly publicKey: Uint8Array
  readonly signature: Uint8Array
  readonly data: Uint8Array
}): Promise<boolean | undefined> => {
  const { data, publicKey, signature } = input
  let key: CryptoKey
  try {
    key = await crypto.subtle.importKey("raw", Uint8Array.from(publicKey), P256, false, ["verify"])
  } catch {
    return undefined
  }
  return crypto.subtle.verify(
    { name: "ECDSA", hash: "SHA-256" },
    key,
    signature as Uint8Array<ArrayBuffer>,
    data as Uint8Array<ArrayBuffer>
  )
}
