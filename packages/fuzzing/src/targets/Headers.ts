import { isIP } from "node:net"
import { verifyWebhook } from "@svc/client"
import { approvalCookieName, readApprovalCookie } from "@svc/http-server/approval/ApprovalCookie"
import { pageLanguage } from "@svc/http-server/approval/PageLanguage"
import { accepts } from "@svc/http-server/gate/Accept"
import { parseQuery } from "@svc/http-server/gate/QueryString"
import { clientAddressOf, networkOf, parseTrustedProxies } from "@svc/http-server/http/ClientAddress"
import { loggedRequestId, loggedUserAgent } from "@svc/http-server/http/LoggedHeader"
import { parseTraceparent } from "@svc/http-server/http/TraceContext"
import { verifyWebhookSignature, webhookSignature } from "@svc/protocol/webhook/WebhookSignature"
import { Result } from "effect"
import { bytesOf, demand, type FuzzTarget, latin1Of, partsOf, textOf } from "../FuzzTarget.ts"

const SECRET = `svc_wh_${"A".repeat(43)}`
const NOW = 1_800_000_000
const EVENT = bytesOf('{"id":"evt_1","type":"mandate.approved","data":{}}')
const SIGNED = webhookSignature({ secret: SECRET, timestamp: NOW, body: EVENT })

/** A receiver takes what was signed, and nothing else; its two readers agree. */
export const webhookSignatures: FuzzTarget = {
  seeds: [
    `${SIGNED}\n%%\n${latin1Of(EVENT)}`,
    `${SIGNED.toUpperCase()}\n%%\n{}`,
    `t=${NOW},v1=${"0".repeat(64)}\n%%\n`
  ],
  words: ["t=", "v1=", ",", " ", "1800000000", "0", "1e9", "\n%%\n", "\t", SIGNED.slice(-64)],
  run: async (input) => {
    const [header = "", ...rest] = partsOf(input)
    const body = Uint8Array.from(Buffer.from(rest.join("\n%%\n"), "latin1"))
    const strict = verifyWebhookSignature({ secret: SECRET, header, body, now: NOW })
    const taken = await verifyWebhook({
      secrets: [SECRET],
      headers: { "svc-signature": header },
      body,
      now: NOW
    }).then(
      () => "taken",
      (error: { readonly code?: string }) => error.code ?? String(error)
    )
    demand(taken === "taken" || taken.startsWith("webhook_"), `a webhook is refused with ${taken}`)
    const isSigned = taken === "taken" || taken === "webhook_body_malformed"
    demand(isSigned === Result.isSuccess(strict), "two readers of a signature differ")
    if (Result.isFailure(strict)) return
    const { timestamp } = strict.success
    demand(header === webhookSignature({ secret: SECRET, timestamp, body }), "what was not signed is taken")
  }
}

const ADDRESS = /^[\da-f.:]*$/u

/** Headers that say where a request is from, and for whom it is traced and logged. */
export const requestHeaders: FuzzTarget = {
  seeds: [
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-what-comes",
    "203.0.113.7, 10.0.0.1",
    "[2001:db8::1]:4711, ::ffff:10.1.2.3, 203.0.113.7:80",
    "de-DE;q=0.8, en;q=0.9, *;q=0",
    "application/json;q=0, text/*, */*;q=0.1",
    `a=b; svc_aps_1=${"A".repeat(43)}; c`,
    "a=b&c=%20d+e&%zz",
    "10.0.0.0/8, 2001:db8::/32"
  ],
  words: [
    "00",
    "ff",
    "-",
    "0",
    ",",
    ";",
    "q=0",
    "q=1.000",
    "::",
    "%eth0",
    "[",
    "]",
    ":",
    "10.",
    "/",
    "*",
    "&",
    "=",
    "%",
    "+",
    "64:ff9b::"
  ],
  run: (input) => {
    const text = latin1Of(input)
    const trace = parseTraceparent(text)
    if (trace !== undefined) {
      demand(
        /^[0-9a-f]{32}$/u.test(trace.traceId) && /^[0-9a-f]{16}$/u.test(trace.spanId),
        "a trace is malformed"
      )
      demand(text.includes(`${trace.traceId}-${trace.spanId}`), "a trace is another one")
    }
    const proxies = parseTrustedProxies("10.0.0.0/8, 2001:db8::/32, ::ffff:10.1.2.0/120")
    if (proxies === undefined) throw new Error("proxies are not read")
    demand(clientAddressOf("203.0.113.9", text, proxies) === "203.0.113.9", "one who is no proxy is trusted")
    for (const address of [
      clientAddressOf("10.0.0.1", text, proxies),
      clientAddressOf(text, text, proxies)
    ]) {
      demand(address === "" || (isIP(address) > 0 && ADDRESS.test(address)), "a client has no address")
      demand(networkOf(address).length <= 43, "a network has no name")
    }
    parseTrustedProxies(text)
    const agent = (loggedUserAgent(text) ?? "").replaceAll(/\\u[\da-f]{4}/gu, " ")
    demand(!/[^\x20-\x7e]/u.test(agent) && !/[\w-]{43,}/u.test(agent), "a log line takes what it must not")
    demand(
      /^[\x21-\x7e]*$/u.test(loggedRequestId(text) ?? ""),
      "a log line takes a request id that it must not"
    )
    demand(
      ["en", "de", "fr", "es"].includes(pageLanguage(text)) || pageLanguage(text).length === 2,
      "a language is none"
    )
    accepts(text, "application/jose+json")
    readApprovalCookie(text, approvalCookieName("aps_1", "http://localhost:3000"))
    const query = parseQuery(`/v1/mandates?${textOf(input)}`)
    if (query !== undefined) {
      demand(
        Object.values(query).every((value) => value.isWellFormed()),
        "a query holds half a character"
      )
    }
  }
}
