import { isIP } from "node:net"
import { connect } from "node:tls"
import { dnsResolve, type Resolve } from "@svc/guarded-http/NameResolver"
import { Clock, Context, Effect } from "effect"
import { type Check, failed, ok, skipped, warning } from "./Check.ts"

/** How names are resolved and which authorities are trusted, which a test replaces. */
export class Network extends Context.Reference<{
  readonly resolve: Resolve
  /** Certificates to trust in place of the well-known authorities', as PEM. */
  readonly ca?: string
}>("@svc/cli/doctor/Network", { defaultValue: () => ({ resolve: dnsResolve() }) }) {}

/** A public origin of the service, by what it serves. */
export interface PublicOrigin {
  readonly serves: "api" | "approval"
  readonly url: URL
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/gu, "")

const isOfThisMachine = (url: URL): boolean =>
  url.hostname === "localhost" || url.hostname.endsWith(".localhost")

export interface NameFacts {
  readonly host: string
  /** Absent: it is no name that name servers are asked about. */
  readonly addresses: ReadonlyArray<string> | "unanswered" | undefined
}

export const nameFacts = ({ url }: PublicOrigin): Effect.Effect<NameFacts> =>
  Effect.gen(function* () {
    const host = hostOf(url)
    if (isIP(host) !== 0 || isOfThisMachine(url)) return { host, addresses: undefined }
    const { resolve } = yield* Network
    const addresses = yield* Effect.orElseSucceed(resolve(host), () => "unanswered" as const)
    return { host, addresses }
  })

export const nameCheck = (serves: PublicOrigin["serves"]): Check<NameFacts> => ({
  name: `dns.${serves}`,
  judge: ({ addresses, host }) => {
    if (addresses === undefined) return skipped(`${host} is not asked of name servers`)
    if (addresses === "unanswered") {
      return warning(
        `the name servers of this machine do not answer for ${host}`,
        "look at the name servers of this machine; the webhooks of every organization need them"
      )
    }
    return addresses.length === 0
      ? failed(`${host} has no address`, "publish its A or AAAA record, or correct the setting")
      : ok(`${host} is ${addresses.join(", ")}`)
  }
})

export interface CertificateFacts {
  readonly host: string
  readonly now: number
  readonly outcome:
    | { readonly kind: "plain" }
    | { readonly kind: "unreachable"; readonly code: string }
    | { readonly kind: "presented"; readonly expiresAt: number; readonly fault: string | undefined }
}

/** Longest that a TLS handshake may take, in milliseconds. */
const HANDSHAKE_LIMIT_MS = 5000
const HTTPS_PORT = 443

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "no answer"

/** A handshake and nothing more: no request is sent. */
const handshake = (url: URL, ca: string | undefined) =>
  Effect.callback<CertificateFacts["outcome"]>((resume) => {
    const host = hostOf(url)
    const socket = connect({
      host,
      port: Number(url.port || HTTPS_PORT),
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca }),
      // What is wrong with the certificate is to be told rather than to end the handshake.
      rejectUnauthorized: false,
      timeout: HANDSHAKE_LIMIT_MS
    })
    const unreachable = (code: string) => {
      resume(Effect.succeed({ kind: "unreachable", code }))
      socket.destroy()
    }
    socket.once("secureConnect", () => {
      const fault = socket.authorizationError as Error | string | null | undefined
      resume(
        Effect.succeed({
          kind: "presented",
          expiresAt: Date.parse(socket.getPeerCertificate().valid_to),
          fault: fault instanceof Error ? codeOf(fault) : (fault ?? undefined)
        })
      )
      socket.destroy()
    })
    socket.once("timeout", () => unreachable("ETIMEDOUT"))
    socket.on("error", (error) => unreachable(codeOf(error)))
    return Effect.sync(() => socket.destroy())
  })

export const certificateFacts = ({ url }: PublicOrigin): Effect.Effect<CertificateFacts> =>
  Effect.gen(function* () {
    const { ca } = yield* Network
    const now = yield* Clock.currentTimeMillis
    const outcome: CertificateFacts["outcome"] =
      url.protocol === "https:" ? yield* handshake(url, ca) : { kind: "plain" }
    return { host: url.host, now, outcome }
  })

const MILLISECONDS_PER_DAY = 86_400_000
/** A certificate that ends sooner should have been renewed, in days. */
const RENEWAL_DAYS = 14

export const certificateCheck = (serves: PublicOrigin["serves"]): Check<CertificateFacts> => ({
  name: `tls.${serves}`,
  judge: ({ host, now, outcome }) => {
    if (outcome.kind === "plain") return skipped(`${host} is served without TLS`)
    if (outcome.kind === "unreachable") {
      return warning(
        `this machine gets no TLS connection to ${host} (${outcome.code})`,
        "look from where callers and end users are; if it is the same there, look at what is in front of the service"
      )
    }
    const days = Math.floor((outcome.expiresAt - now) / MILLISECONDS_PER_DAY)
    if (outcome.fault !== undefined) {
      return failed(
        `the certificate of ${host} is not good (${outcome.fault})`,
        "renew it for this name, with the chain of its authority"
      )
    }
    return days < RENEWAL_DAYS
      ? warning(
          `the certificate of ${host} ends in ${days} days`,
          "renew it, and look why that did not happen"
        )
      : ok(`the certificate of ${host} is good for ${days} days`)
  }
})
