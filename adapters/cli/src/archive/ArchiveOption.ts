import { resolve } from "node:path"
import { Effect } from "effect"
import {
  AWS_ACCESS_KEY_ID,
  AWS_ENDPOINT_URL_S3,
  AWS_REGION,
  AWS_SECRET_ACCESS_KEY,
  AWS_SESSION_TOKEN
} from "../config/ArchiveSettings.ts"
import { optional, required } from "../config/Setting.ts"
import { type StartFault, usageFault, validateAll } from "../start/StartFault.ts"
import type { ArchivePlace } from "./ArchivePlace.ts"
import { bucketArchive, parseBucket } from "./BucketArchive.ts"
import { folderArchive } from "./FolderArchive.ts"

/** The value of `--to`: a folder, or `s3://bucket/prefix` with the credentials that are set. */
export const archiveAt = (to: string): Effect.Effect<ArchivePlace, StartFault> => {
  if (!to.startsWith("s3://"))
    return /^[a-z][a-z0-9+.-]+:\/\//u.test(to)
      ? Effect.fail(usageFault("--to must be a folder or s3://bucket/prefix"))
      : Effect.succeed(folderArchive(resolve(to)))
  const place = parseBucket(to)
  if (place === undefined)
    return Effect.fail(
      usageFault("--to must be s3:// and the name of a bucket, and may have a prefix behind a slash")
    )
  return Effect.map(
    validateAll({
      accessKeyId: required(AWS_ACCESS_KEY_ID),
      secretAccessKey: required(AWS_SECRET_ACCESS_KEY),
      sessionToken: optional(AWS_SESSION_TOKEN),
      region: required(AWS_REGION),
      endpoint: optional(AWS_ENDPOINT_URL_S3)
    }),
    (settings) => bucketArchive({ ...place, ...settings })
  )
}
