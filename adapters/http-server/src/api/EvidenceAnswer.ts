import { promisify } from "node:util"
import { constants, createGzip, gzip } from "node:zlib"
import * as NodeStream from "@effect/platform-node/NodeStream"
import type { EvidenceReading } from "@svc/domain/programs/Evidence"
import { Effect, Stream } from "effect"
import Negotiator from "negotiator"
import { type Answer, BodyBytes, BodyStream } from "./Answer.ts"

/**
 * Largest payload that is made before its response begins, in bytes: a fault is then a problem. With a larger one, a fault
 * after the response has begun closes the connection.
 */
const MAX_WHOLE_BYTES = 256 * 1024

/**
 * Whether evidence is sent compressed. To compress it gives nothing away (BREACH): the response holds no secret, nothing of
 * the request is repeated in it, and no browser sends the API key by itself.
 */
const acceptsGzip = (acceptEncoding: string | undefined): boolean =>
  acceptEncoding !== undefined &&
  new Negotiator({ headers: { "accept-encoding": acceptEncoding } }).encoding(["gzip", "identity"]) === "gzip"

/** Evidence is five times smaller even at the lowest level, which costs a third of the processor time of the default. */
const GZIP_OPTIONS = { level: constants.Z_BEST_SPEED }

const encoder = new TextEncoder()

/** The envelope as JSON. The signature comes last, since it is over what precedes it. Base64url needs no escapes. */
const envelopeOf = ({ format, payload, protected: header, signature }: EvidenceReading) =>
  Stream.concat(
    Stream.concat(
      Stream.succeed(
        encoder.encode(`{"format":"${format}","protected":"${header}","payload":"`) as Uint8Array
      ),
      payload
    ),
    Stream.fromEffect(Effect.map(signature, (text) => encoder.encode(`","signature":"${text}"}`)))
  )

const logCutOff = Effect.fn("logCutOff")((cause: unknown) =>
  Effect.logWarning("a response of evidence broke off", cause)
)

/** The response with evidence: whole if it is short, else sent while it is made. */
export const evidenceAnswer = Effect.fnUntraced(function* (
  reading: EvidenceReading,
  acceptEncoding: string | undefined
) {
  const isCompressed = acceptsGzip(acceptEncoding)
  const headers = {
    vary: "Accept-Encoding",
    ...(isCompressed ? { "content-encoding": "gzip" } : {})
  }
  const envelope = envelopeOf(reading)
  if (reading.estimatedBytes <= MAX_WHOLE_BYTES) {
    const whole = Buffer.concat(yield* Stream.runCollect(envelope))
    const bytes = isCompressed ? yield* Effect.promise(() => promisify(gzip)(whole, GZIP_OPTIONS)) : whole
    const answer: Answer<never> = { body: new BodyBytes(bytes), headers }
    return answer
  }
  const compressed = isCompressed
    ? NodeStream.pipeThroughSimple(envelope, () => createGzip(GZIP_OPTIONS))
    : envelope
  const answer: Answer<never> = {
    body: new BodyStream(Stream.tapCause(compressed, logCutOff)),
    headers
  }
  return answer
})
