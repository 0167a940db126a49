import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import Negotiator from "negotiator"
import { entityTag } from "../http/EntityTag.ts"

/** Content encodings, the most compact first. */
const ENCODINGS = ["br", "gzip", "identity"] as const
export type ContentEncoding = (typeof ENCODINGS)[number]

/** A document in one encoding. All responses share its bytes. */
export interface EncodedDocument {
  readonly encoding: ContentEncoding
  readonly bytes: Buffer
  readonly etag: string
}

/** The most compact encoding that the request accepts; `identity` if it accepts none. */
export const acceptedEncoding = (acceptEncoding: string | undefined): ContentEncoding => {
  const accepted = new Negotiator({ headers: { "accept-encoding": acceptEncoding } }).encodings([
    ...ENCODINGS
  ])
  return ENCODINGS.find((encoding) => accepted.includes(encoding)) ?? "identity"
}

const compressors: Readonly<Record<ContentEncoding, (bytes: Buffer) => Promise<Buffer>>> = {
  identity: async (bytes) => bytes,
  gzip: (bytes) => promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
  br: (bytes) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length
      }
    })
}

/** Encodings of the same text must have different tags (RFC 9110, section 8.8.3). */
const tagOf = (bytes: Buffer, encoding: ContentEncoding): string =>
  encoding === "identity" ? entityTag(bytes) : entityTag(bytes).replace(/"$/u, `-${encoding}"`)

/** A document that is generated on first request and compressed once per requested encoding. */
export const encodedContent = (make: () => string | Buffer) => {
  let made: Buffer | undefined
  const encoded = new Map<ContentEncoding, Promise<EncodedDocument>>()
  const encode = async (encoding: ContentEncoding): Promise<EncodedDocument> => {
    made ??= Buffer.from(make())
    return { encoding, bytes: await compressors[encoding](made), etag: tagOf(made, encoding) }
  }
  return (encoding: ContentEncoding): Promise<EncodedDocument> => {
    const known = encoded.get(encoding) ?? encode(encoding)
    encoded.set(encoding, known)
    return known
  }
}

export type EncodedContent = ReturnType<typeof encodedContent>
