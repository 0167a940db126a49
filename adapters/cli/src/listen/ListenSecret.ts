import { randomBytes } from "node:crypto"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { WEBHOOK_SECRET_BYTES, WEBHOOK_SECRET_PREFIX } from "@svc/protocol/WebhookSignature"
import type { Effect, Redacted } from "effect"
import { parseWebhookSecret } from "../config/Config.ts"
import { readSecretFile } from "../config/SecretFile.ts"
import type { StartFault } from "../start/StartFault.ts"

/** Name of the file in the development server's folder. */
export const LISTEN_SECRET_FILE_NAME = "listen.secret"

/** The secret that forwarded events are signed with: made on first use, and the same from then on. */
export const readListenSecret = (folder: string): Effect.Effect<Redacted.Redacted, StartFault> =>
  readSecretFile(
    { folder, name: LISTEN_SECRET_FILE_NAME, what: "webhook secret" },
    () => `${WEBHOOK_SECRET_PREFIX}${encodeBase64Url(new Uint8Array(randomBytes(WEBHOOK_SECRET_BYTES)))}`,
    parseWebhookSecret
  )
