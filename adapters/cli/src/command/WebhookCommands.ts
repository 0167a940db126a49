import { readFile } from "node:fs/promises"
import { formatInstant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import {
  verifyWebhookSignature,
  WEBHOOK_TOLERANCE_SECONDS,
  type WebhookSignatureFault
} from "@svc/protocol/webhook/WebhookSignature"
import { Clock, Console, Context, Effect, Redacted, Result } from "effect"
import { webhookSecretConfig, webhookSecretIn } from "../config/Config.ts"
import { parseWebhookSecret } from "../config/SettingParsers.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { CheckFailed } from "../start/RunCommand.ts"
import { configurationFault, type StartFault, usageFault } from "../start/StartFault.ts"
import type { Command } from "./Command.ts"
import { readOptions, refuseUnless, requiredOption } from "./CommandOptions.ts"

const MILLISECONDS_PER_SECOND = 1000

/** Far above the size of any webhook, in bytes. */
const MAX_BODY_BYTES = 1_048_576

const REASON_TEXTS: Readonly<Record<WebhookSignatureFault, string>> = {
  secret_malformed: "the secret is not svc_wh_ and 32 bytes as base64url",
  header_malformed: "the signature is not t=<unix seconds>,v1=<64 lower-case hex characters>",
  timestamp_out_of_tolerance: "t is too far from this machine's clock",
  signature_mismatch:
    "another secret, or the body is not the bytes that were sent (HMAC-SHA256 over t, a full stop and the body; the key is the 32 bytes that what follows svc_wh_ decodes to as base64url)"
}

/** What is wrong with a signature, and the remedy where there is one. */
const detailOf = (
  reason: WebhookSignatureFault,
  { header, now, toleranceSeconds }: { header: string; now: number; toleranceSeconds: number }
): string => {
  const [, t] = /^t=(\d{1,15}),/u.exec(header) ?? []
  if (reason !== "timestamp_out_of_tolerance" || t === undefined) return REASON_TEXTS[reason]
  const off = Number(t) - now
  const difference = `${Math.abs(off)} s ${off < 0 ? "behind" : "ahead of"} it, where ${toleranceSeconds} s are let pass`
  const sufficient = Math.abs(off) + WEBHOOK_TOLERANCE_SECONDS
  return `${REASON_TEXTS[reason]}: ${difference}; --tolerance ${sufficient} checks the rest of a webhook that was kept`
}

/** The stream that the body is read from. */
export class StandardInput extends Context.Reference<AsyncIterable<Uint8Array>>(
  "@svc/cli/command/StandardInput",
  {
    defaultValue: () => process.stdin as AsyncIterable<Uint8Array>
  }
) {}

const readInput = StandardInput.use((input) =>
  Effect.tryPromise({
    try: async () => {
      const chunks: Array<Uint8Array> = []
      let size = 0
      for await (const chunk of input) {
        size += chunk.length
        if (size > MAX_BODY_BYTES) throw new RangeError("too long")
        chunks.push(chunk)
      }
      return new Uint8Array(Buffer.concat(chunks))
    },
    catch: () => usageFault("the standard input is not the body of a webhook")
  })
)

const secretOf = (
  file: string | undefined,
  variable: string | undefined
): Effect.Effect<Redacted.Redacted, StartFault> => {
  if (file === undefined) return variable === undefined ? webhookSecretConfig : webhookSecretIn(variable)
  return Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: () => configurationFault("the file of the secret cannot be read")
  }).pipe(
    Effect.flatMap((text) => {
      const secret = parseWebhookSecret(text.trimEnd())
      return secret === undefined
        ? Effect.fail(configurationFault("the file does not hold svc_wh_ and 32 bytes as base64url"))
        : Effect.succeed(secret)
    })
  )
}

const toleranceOf = Effect.fnUntraced(function* (text: string | undefined) {
  if (text === undefined) return WEBHOOK_TOLERANCE_SECONDS
  yield* refuseUnless(/^\d{1,12}$/u.test(text), "--tolerance must be a whole number of seconds")
  return Number(text)
})

const verify: Command = {
  name: "webhook verify",
  help: helpOf(
    `svc webhook verify --signature <Svc-Signature>: verifies a webhook. Its raw body, byte for byte, is read from standard input;
a body that was parsed and serialized again does not verify.

  --signature <value>       the header Svc-Signature as it was received
  --secret-file <file>      file with the secret
  --secret-env <variable>   environment variable with the secret; default SVC_WEBHOOK_SECRET
  --tolerance <seconds>     how far t may be from this machine's clock; default ${WEBHOOK_TOLERANCE_SECONDS}
  --json                    prints JSON

Prints the result in one line. Exits 0 if the signature is valid, 1 if it is not.`,
    SETTINGS_OF.webhookSecret
  ),
  run: Effect.fnUntraced(function* (words) {
    const given = yield* readOptions(
      { signature: "one", "secret-file": "one", "secret-env": "one", tolerance: "one", json: "flag" },
      words
    )
    const header = yield* requiredOption(given.signature, "signature")
    yield* refuseUnless(
      given["secret-file"] === undefined || given["secret-env"] === undefined,
      "--secret-file and --secret-env exclude each other"
    )
    const toleranceSeconds = yield* toleranceOf(given.tolerance)
    const secret = Redacted.value(yield* secretOf(given["secret-file"], given["secret-env"]))
    const body = yield* readInput
    const now = Math.floor((yield* Clock.currentTimeMillis) / MILLISECONDS_PER_SECOND)
    const verified = verifyWebhookSignature({ secret, header, body, now, toleranceSeconds })
    if (Result.isFailure(verified)) {
      const { reason } = verified.failure
      const detail = detailOf(reason, { header, now, toleranceSeconds })
      yield* Console.log(given.json ? JSON.stringify({ valid: false, reason, detail }) : `invalid: ${detail}`)
      return yield* new CheckFailed({})
    }
    const signedAt = formatInstant(BigInt(verified.success.timestamp) * NANOS_PER_SECOND)
    yield* Console.log(
      given.json ? JSON.stringify({ valid: true, signed_at: signedAt }) : `valid: signed at ${signedAt}`
    )
  })
}

/** Commands about webhooks that need no store. */
export const webhookCommands: ReadonlyArray<Command> = [verify]
