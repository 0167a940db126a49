import { createHash } from "node:crypto"
import { Effect, Redacted } from "effect"
import { configurationFault, type StartFault, temporaryFault } from "../start/StartFault.ts"
import type { ArchivePlace } from "./ArchivePlace.ts"

/** A bucket of an S3-compatible store, and the credentials for it. */
export interface Bucket {
  readonly bucket: string
  /** Before every key, without a slash at its end; may be empty. */
  readonly prefix: string
  readonly region: string
  /** Origin of a store other than Amazon's, which is addressed by path. */
  readonly endpoint: string | undefined
  readonly accessKeyId: string
  readonly secretAccessKey: Redacted.Redacted
  readonly sessionToken: Redacted.Redacted | undefined
}

/** Longest that one request may take, in milliseconds. */
const REQUEST_TIMEOUT_MS = 120_000
/** How often a request is repeated after a 5xx or a 429. */
const RETRIES = 3

const ALREADY_THERE = 412
const CONFLICT = 409

/** `s3://bucket/prefix` in its parts. */
export const parseBucket = (text: string): Pick<Bucket, "bucket" | "prefix"> | undefined => {
  const [, bucket, prefix = ""] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w!.*'()/-]{0,512}?))?\/?$/u.exec(text) ?? []
  const segments = prefix === "" ? [] : prefix.split("/")
  // A client would take these for steps of a path.
  if (bucket === undefined || segments.some((part) => part === "" || part === "." || part === ".."))
    return undefined
  return { bucket, prefix }
}

const baseOf = ({ bucket, endpoint, prefix, region }: Bucket): string => {
  const behind = prefix === "" ? "" : `/${prefix}`
  if (endpoint !== undefined) return `${endpoint}/${bucket}${behind}`
  const host = `s3.${region}.amazonaws.com`
  // A certificate's wildcard covers no bucket name with a dot.
  return bucket.includes(".") ? `https://${host}/${bucket}${behind}` : `https://${bucket}.${host}${behind}`
}

const digestOf = (content: Uint8Array, encoding: "hex" | "base64"): string =>
  createHash("sha256").update(content).digest(encoding)

interface Answer {
  readonly status: number
  readonly body: Uint8Array<ArrayBuffer>
}

const faultOfStatus = (status: number, { bucket }: Bucket): StartFault =>
  status >= 500 || status === 429 || status === CONFLICT
    ? temporaryFault(`the store of the bucket ${bucket} answers ${status}`)
    : configurationFault(
        `the store of the bucket ${bucket} answers ${status}: are its name, the region and the credentials right, and may they read and write there?`
      )

/**
 * An archive in a bucket. An object is written only if there is none of its key (`If-None-Match: *`), with its SHA-256, which
 * the store checks. The client is loaded here, since few commands need it.
 */
export const bucketArchive = (bucket: Bucket): ArchivePlace => {
  const base = baseOf(bucket)
  const request = (
    name: string,
    init: { method: string; headers?: Record<string, string>; body?: Uint8Array<ArrayBuffer> }
  ) =>
    Effect.tryPromise({
      try: async (signal): Promise<Answer> => {
        const { AwsClient } = await import("aws4fetch")
        const client = new AwsClient({
          service: "s3",
          region: bucket.region,
          accessKeyId: bucket.accessKeyId,
          secretAccessKey: Redacted.value(bucket.secretAccessKey),
          ...(bucket.sessionToken === undefined ? {} : { sessionToken: Redacted.value(bucket.sessionToken) }),
          retries: RETRIES
        })
        const response = await client.fetch(`${base}/${name}`, {
          ...init,
          redirect: "error",
          signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)])
        })
        return { status: response.status, body: new Uint8Array(await response.arrayBuffer()) }
      },
      catch: () => temporaryFault(`the store of the bucket ${bucket.bucket} does not answer`)
    })
  return {
    read: (name) =>
      Effect.flatMap(request(name, { method: "GET" }), ({ body, status }) => {
        if (status === 200) return Effect.succeed(body)
        return status === 404 ? Effect.undefined : Effect.fail(faultOfStatus(status, bucket))
      }),
    create: (name, content) =>
      Effect.flatMap(
        request(name, {
          method: "PUT",
          headers: {
            "content-type": "application/json",
            "if-none-match": "*",
            "x-amz-content-sha256": digestOf(content, "hex"),
            "x-amz-checksum-sha256": digestOf(content, "base64")
          },
          body: content
        }),
        ({ status }) =>
          status === 200 || status === ALREADY_THERE
            ? Effect.void
            : Effect.fail(faultOfStatus(status, bucket))
      )
  }
}
