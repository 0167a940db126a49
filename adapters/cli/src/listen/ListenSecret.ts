import { randomBytes } from "node:crypto"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { WEBHOOK_SECRET_BYTES, WEBHOOK_SECRET_PREFIX } from "@svc/protocol/webhook/WebhookSignature"
import type { Effect, Redacted } from "effect"
import { readSecretFile } from "../config/SecretFile.ts"
import { parseWebhookSecret } from "../config/SettingParsers.ts"
import type { StartFault } from "../start/StartFault.ts"

/** Name of the file in the development server's folder. */
export const LISTEN_SECRET_FILE_NAME = "listen.secret"

/** The secret that signs forwarded events, generated on first use. */
export const readListenSecret = (folder: string): Effect.Effect<Redacted.Redacted, StartFault> =>
  readSecretFile(
    { folder, name: LISTEN_SECRET_FILE_NAME, what: "webhook secret" },
    () => `${WEBHOOK_SECRET_PREFIX}${encodeBase64Url(new Uint8Array(randomBytes(WEBHOOK_SECRET_BYTES)))}`,
    parseWebhookSecret
  )
