import { existsSync, readFileSync } from "node:fs"
import type { JsonObject } from "../src/json/Json.ts"

/** Known answers of every byte format, as `vectors.json` beside this file holds them. */
export interface ByteVectors {
  readonly commitment: ReadonlyArray<{ readonly opening: string; readonly commitment: string }>
  readonly policy_digest: ReadonlyArray<{
    readonly policy: JsonObject
    readonly jcs: string
    readonly policy_digest: string
  }>
  readonly approval_challenge: ReadonlyArray<{ readonly statement: JsonObject; readonly challenge: string }>
  readonly event_hash: ReadonlyArray<JsonObject & { readonly hash: string }>
  readonly webhook_signature: ReadonlyArray<{
    readonly secret: string
    readonly t: number
    readonly body: string
    readonly body_base64: string
    readonly signature: string
  }>
  readonly evidence: {
    readonly key_set: {
      readonly keys: ReadonlyArray<{
        readonly kty: "EC"
        readonly crv: "P-256"
        readonly use: "sig"
        readonly alg: "ES256"
        readonly kid: string
        readonly x: string
        readonly y: string
      }>
    }
    readonly valid: ReadonlyArray<{
      readonly format: string
      readonly protected: string
      readonly payload: string
      readonly signature: string
    }>
  }
}

const read = (url: URL): ByteVectors => JSON.parse(readFileSync(url, "utf8")) as ByteVectors

export const byteVectors: ByteVectors = read(new URL("vectors.json", import.meta.url))

const published = new URL("../../../../shared/spec/vectors.json", import.meta.url)

/** The vectors as published beside a checkout, where they are: they must equal ours. */
export const publishedByteVectors: ByteVectors | undefined = existsSync(published)
  ? read(published)
  : undefined
