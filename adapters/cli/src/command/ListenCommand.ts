import { resolve } from "node:path"
import { isLoopbackHost } from "@svc/domain/webhook/WebhookTarget"
import { Console, Effect, Redacted } from "effect"
import { listenConfig } from "../config/Config.ts"
import { parseOrigin, parseWebhookSecret } from "../config/SettingParsers.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { findDevFile } from "../dev/DevFile.ts"
import type { FeedServer } from "../listen/FeedReader.ts"
import { type ListenOptions, listen } from "../listen/Listen.ts"
import { readListenSecret } from "../listen/ListenSecret.ts"
import { configurationFault, type StartFault, usageFault } from "../start/StartFault.ts"
import type { Command } from "./Command.ts"
import { readOptions, refuseUnless, requiredOption } from "./CommandOptions.ts"

type Configured = Effect.Success<typeof listenConfig>

const OPTIONS = {
  "forward-to": "one",
  "base-url": "one",
  "api-key": "one",
  secret: "one",
  after: "one",
  "from-start": "flag",
  json: "flag"
} as const

const targetUrl = (text: string): Effect.Effect<string, StartFault> => {
  const url = URL.parse(text)
  const isValid =
    url !== null && /^https?:$/u.test(url.protocol) && url.username === "" && url.password === ""
  if (!isValid)
    return Effect.fail(usageFault("--forward-to must be a URL such as http://localhost:3000/webhooks"))
  return isLoopbackHost(url)
    ? Effect.succeed(url.href)
    : Effect.fail(
        usageFault(
          "--forward-to must be on this machine (localhost, 127.0.0.1 or [::1]); register a webhook endpoint for any other address"
        )
      )
}

/** The API key of dev.json is sent to its own server only. */
const serverOf = Effect.fnUntraced(function* (
  given: { readonly baseUrl: string | undefined; readonly apiKey: string | undefined },
  configured: Configured
): Effect.fn.Return<FeedServer, StartFault> {
  const dev = yield* findDevFile(resolve(configured.dataDir))
  const named = given.baseUrl === undefined ? configured.baseUrl : parseOrigin(given.baseUrl)
  yield* refuseUnless(
    given.baseUrl === undefined || named !== undefined,
    "--base-url must be an origin such as http://localhost:8080"
  )
  const baseUrl = named ?? dev?.base_url
  if (baseUrl === undefined) {
    return yield* configurationFault("there is no dev.json: name the server with SVC_BASE_URL or --base-url")
  }
  const devKey = dev?.base_url === baseUrl ? Redacted.make(dev.api_key, { label: "api_key" }) : undefined
  const apiKey =
    given.apiKey === undefined
      ? (configured.apiKey ?? devKey)
      : Redacted.make(given.apiKey, { label: "api_key" })
  if (apiKey === undefined)
    return yield* configurationFault("SVC_API_KEY is missing: an API key of the server")
  yield* refuseUnless(/^[\x21-\x7e]+$/u.test(Redacted.value(apiKey)), "--api-key is not an API key")
  return { baseUrl, apiKey }
})

const secretOf = Effect.fnUntraced(function* (
  given: string | undefined,
  configured: Configured
): Effect.fn.Return<Redacted.Redacted, StartFault> {
  if (given === undefined) return configured.secret ?? (yield* readListenSecret(resolve(configured.dataDir)))
  const secret = parseWebhookSecret(given)
  return secret === undefined
    ? yield* usageFault("--secret must be svc_wh_ and 32 bytes as base64url")
    : secret
})

const fromOf = (after: string | undefined, isFromStart: boolean): ListenOptions["from"] => {
  if (after !== undefined) return { after }
  return isFromStart ? "start" : "now"
}

const START_TEXTS = { now: "from now on", start: "from the first one on" } as const

/** What the developer must know before the first event is sent. */
const banner = ({ from, json, server, target }: ListenOptions): string => {
  const secret = Redacted.value(target.secret)
  if (json)
    return JSON.stringify({ base_url: server.baseUrl, forward_to: target.url, webhook_secret: secret })
  const start = typeof from === "string" ? START_TEXTS[from] : "after the cursor"
  return `Forwarding events of ${server.baseUrl} to ${target.url}, ${start}. End with Ctrl-C.
Webhook secret for the receiver: ${secret}`
}

/** `svc listen`: forwards events as webhooks to a developer's receiver that the server cannot reach (part 8). */
export const listenCommand: Command = {
  name: "listen",
  help: helpOf(
    `svc listen --forward-to <url>: reads the events of an organization from a running server (GET /v1/events) and posts each
one to an address of this machine, signed and shaped as a webhook. The server needs no endpoint and no way to that address.

  --forward-to <url>     on this machine, such as http://localhost:3000/webhooks
  --from-start           starts with the first event; default: with the next one
  --after <cursor>       starts after a next_cursor of GET /v1/events
  --base-url <origin>    in place of SVC_BASE_URL
  --api-key <key>        in place of SVC_API_KEY, but visible in the list of processes
  --secret <secret>      in place of SVC_WEBHOOK_SECRET, likewise; default: generated once, kept in the data folder, and printed
  --json                 prints JSON lines

Prints a line per event with its time, type, mandate and the status of the answer. An event is skipped after three failed
attempts; a receiver that answers 401 may verify with another secret than the one printed. With a development server
(npm start) no setting is needed.`,
    SETTINGS_OF.listen
  ),
  run: Effect.fnUntraced(function* (words) {
    const given = yield* readOptions(OPTIONS, words)
    const url = yield* targetUrl(yield* requiredOption(given["forward-to"], "forward-to"))
    yield* refuseUnless(
      given.after === undefined || !given["from-start"],
      "--after and --from-start exclude each other"
    )
    const configured = yield* listenConfig
    const server = yield* serverOf({ baseUrl: given["base-url"], apiKey: given["api-key"] }, configured)
    const options: ListenOptions = {
      server,
      target: { url, secret: yield* secretOf(given.secret, configured) },
      from: fromOf(given.after, given["from-start"]),
      json: given.json
    }
    yield* Console.log(banner(options))
    yield* listen(options)
  })
}
