import * as fc from "fast-check"
import type { WireRequest } from "./WireExchange.ts"

/** How a request's parts become bytes. `certain`: two readers could part the bytes differently, so it must be refused. */
interface Framing {
  readonly lines: (length: number) => ReadonlyArray<string>
  readonly body?: (body: Buffer) => Buffer
  readonly halfClose?: boolean
  readonly isAmbiguous?: boolean
  /** Whether the request stands alone whatever its body: no length is told. */
  readonly isBodiless?: boolean
}

const chunk = (bytes: Buffer, extension = ""): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}${extension}\r\n`), bytes, Buffer.from("\r\n")])

const LAST_CHUNK = Buffer.from("0\r\n\r\n")

const inChunks = (body: Buffer, extension = ""): Buffer => {
  const middle = Math.ceil(body.length / 2)
  const parts = [body.subarray(0, middle), body.subarray(middle)].filter((part) => part.length > 0)
  return Buffer.concat([...parts.map((part) => chunk(part, extension)), LAST_CHUNK])
}

const CHUNKED = "Transfer-Encoding: chunked"

const ambiguous = (
  lines: (length: number) => ReadonlyArray<string>,
  body: (body: Buffer) => Buffer = (bytes) => bytes
): Framing => ({ lines, body, isAmbiguous: true })

const FRAMINGS = {
  length: { lines: (length) => [`Content-Length: ${length}`] },
  chunked: { lines: () => [CHUNKED], body: (body) => inChunks(body) },
  chunkedAnyCase: { lines: () => ["transfer-encoding: CHUNKED"], body: (body) => inChunks(body) },
  chunkExtensions: { lines: () => [CHUNKED], body: (body) => inChunks(body, ";a=b") },
  trailers: {
    lines: () => [CHUNKED, "Trailer: X-Late"],
    body: (body) =>
      Buffer.concat([inChunks(body).subarray(0, -2), Buffer.from("Authorization: Bearer x\r\n\r\n")])
  },
  noLength: { lines: () => [], isBodiless: true },
  tooLong: { lines: (length) => [`Content-Length: ${length + 10}`], halfClose: true },
  cutChunk: { lines: () => [CHUNKED], body: (body) => inChunks(body).subarray(0, -7), halfClose: true },
  tooShort: { lines: (length) => [`Content-Length: ${Math.max(0, length - 1)}`] },
  more: {
    lines: (length) => [`Content-Length: ${length}`],
    body: (body) => Buffer.concat([body, Buffer.from("\u0001garbage\r\n\r\n")])
  },
  badChunkSize: { lines: () => [CHUNKED], body: () => Buffer.from("zz\r\n{}\r\n0\r\n\r\n") },
  negativeChunk: { lines: () => [CHUNKED], body: () => Buffer.from("-1\r\n{}\r\n0\r\n\r\n") },
  hugeChunk: { lines: () => [CHUNKED], body: () => Buffer.from("fffffffffffffffff\r\n{}\r\n0\r\n\r\n") },
  wrongChunkEnd: { lines: () => [CHUNKED], body: () => Buffer.from("2\r\n{}XX0\r\n\r\n") },
  both: ambiguous(
    (length) => [`Content-Length: ${length}`, CHUNKED],
    (body) => inChunks(body)
  ),
  bothOtherWay: ambiguous((length) => [CHUNKED, `Content-Length: ${length}`]),
  zeroAndChunked: ambiguous(
    () => ["Content-Length: 0", CHUNKED],
    (body) => inChunks(body)
  ),
  twoLengths: ambiguous((length) => [`Content-Length: ${length}`, `Content-Length: ${length + 1}`]),
  sameLengthTwice: ambiguous((length) => [`Content-Length: ${length}`, `Content-Length: ${length}`]),
  lengthList: ambiguous((length) => [`Content-Length: ${length}, ${length}`]),
  signedLength: ambiguous((length) => [`Content-Length: +${length}`]),
  negativeLength: ambiguous(() => ["Content-Length: -1"]),
  hexLength: ambiguous(() => ["Content-Length: 0x10"]),
  exponentLength: ambiguous(() => ["Content-Length: 1e1"]),
  hugeLength: ambiguous(() => ["Content-Length: 99999999999999999999999"]),
  spaceBeforeColon: ambiguous((length) => [`Content-Length: ${length}`, "Transfer-Encoding : chunked"]),
  foldedEncoding: ambiguous((length) => [`Content-Length: ${length}`, "Transfer-Encoding:\r\n chunked"]),
  chunkedFirst: ambiguous(
    () => ["Transfer-Encoding: chunked, identity"],
    (body) => inChunks(body)
  ),
  unknownEncoding: ambiguous(
    () => ["Transfer-Encoding: xchunked"],
    (body) => inChunks(body)
  ),
  identityEncoding: ambiguous((length) => ["Transfer-Encoding: identity", `Content-Length: ${length}`]),
  twoEncodings: {
    lines: () => [CHUNKED, "Transfer-Encoding: identity"],
    body: (body) => inChunks(body),
    isAmbiguous: true
  },
  compressedEncoding: { lines: () => ["Transfer-Encoding: gzip, chunked"], body: (body) => inChunks(body) }
} satisfies Readonly<Record<string, Framing>>

export type FramingName = keyof typeof FRAMINGS

const names = Object.keys(FRAMINGS) as ReadonlyArray<FramingName>

export const hostileFraming: fc.Arbitrary<FramingName> = fc.oneof(
  { weight: 12, arbitrary: fc.constant("length" as const) },
  { weight: 1, arbitrary: fc.constantFrom(...names) }
)

export const framingOf = (name: FramingName): Framing => FRAMINGS[name]

/** What follows the request on the same connection. */
const FOLLOWER = "GET /healthz HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n"

/**
 * The bytes of a request. `follower`: a second one comes on the same connection, so that a server that parts the first
 * differently shows it; else the connection is to be closed after the answer.
 */
export const frame = (
  request: {
    readonly start: string
    readonly lines: ReadonlyArray<string>
    readonly body: Buffer | undefined
    readonly follower: boolean
  },
  name: FramingName
): WireRequest => {
  const framing = FRAMINGS[name] as Framing
  const { body } = request
  const said = body === undefined ? [] : framing.lines(body.length)
  const end = request.follower ? [] : ["Connection: close"]
  const head = `${[request.start, ...request.lines, ...said, ...end].join("\r\n")}\r\n\r\n`
  const sent = body === undefined || framing.isBodiless === true ? Buffer.alloc(0) : body
  return {
    bytes: [
      Buffer.from(head, "latin1"),
      body === undefined ? sent : (framing.body?.(sent) ?? sent),
      ...(request.follower ? [Buffer.from(FOLLOWER)] : [])
    ],
    halfClose: body !== undefined && framing.halfClose === true
  }
}
