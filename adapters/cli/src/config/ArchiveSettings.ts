import { Redacted } from "effect"
import type { Setting } from "./Setting.ts"
import { parseOrigin } from "./SettingParsers.ts"

/*
 * The variables that clients of S3 share, as they are set for them.
 */

const secretOf =
  (label: string) =>
  (text: string): Redacted.Redacted | undefined =>
    /^[\x21-\x7e]+$/u.test(text) ? Redacted.make(text, { label }) : undefined

export const AWS_ACCESS_KEY_ID = {
  name: "AWS_ACCESS_KEY_ID",
  meaning: "Access key for a bucket. Needed for --to s3://... alone.",
  form: "an identifier without spaces",
  isOptional: true,
  parse: (text: string) => (/^[\w-]{1,128}$/u.test(text) ? text : undefined)
} as const satisfies Setting<unknown>

export const AWS_SECRET_ACCESS_KEY = {
  name: "AWS_SECRET_ACCESS_KEY",
  meaning: "Its secret.",
  form: "a text without spaces",
  isOptional: true,
  parse: secretOf("secret_access_key")
} as const satisfies Setting<unknown>

export const AWS_SESSION_TOKEN = {
  name: "AWS_SESSION_TOKEN",
  meaning: "The session of credentials that are temporary.",
  form: "a text without spaces",
  isOptional: true,
  parse: secretOf("session_token")
} as const satisfies Setting<unknown>

export const AWS_REGION = {
  name: "AWS_REGION",
  meaning: "Region of the bucket.",
  form: "a region such as eu-central-1",
  byDefault: "us-east-1",
  parse: (text: string) => (/^[a-z0-9-]{1,64}$/u.test(text) ? text : undefined)
} as const satisfies Setting<unknown>

export const AWS_ENDPOINT_URL_S3 = {
  name: "AWS_ENDPOINT_URL_S3",
  meaning: "Origin of an S3-compatible store other than Amazon's, which is addressed by path.",
  form: "an origin such as https://s3.example.com",
  isOptional: true,
  parse: parseOrigin
} as const satisfies Setting<unknown>

export const ARCHIVE_SETTINGS = [
  AWS_ACCESS_KEY_ID,
  AWS_SECRET_ACCESS_KEY,
  AWS_SESSION_TOKEN,
  AWS_REGION,
  AWS_ENDPOINT_URL_S3
] as const
