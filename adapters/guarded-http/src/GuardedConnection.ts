import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { TargetRefused } from "@svc/domain/ports/WebhookTransport"
import type { AttemptError } from "@svc/domain/webhook/WebhookDelivery"
import { Data, Effect, type Scope } from "effect"
import { closedWithScope } from "./ClosedWithScope.ts"
import { type CheckedTarget, hostOf } from "./TargetGuard.ts"

/** An exchange that ended without a status; `cause` is for the operator's log alone. */
export class ExchangeFailed extends Data.TaggedError("ExchangeFailed")<{
  readonly error: Exclude<AttemptError, "target_refused" | "secret_unavailable" | "worker_lost">
  readonly cause?: unknown
}> {}

/** How many of a name's addresses are tried. */
const MAX_ADDRESSES_TRIED = 8
/** How long one address may take before the next is tried, in milliseconds; the last has all the time that is left. */
const ADDRESS_ATTEMPT_MS = 500

/**
 * A look-up that returns the addresses that were checked. Node asks for all of them if it may try several, and for one
 * otherwise; for a literal address it does not ask at all.
 */
export const pinnedLookup =
  (addresses: ReadonlyArray<string>): LookupFunction =>
  (_name, { all }, callback) => {
    const known = addresses.map((address) => ({ address, family: isIP(address) }))
    const [first] = known
    if (all) callback(null, known)
    else callback(null, first?.address ?? "", first?.family)
  }

/** Opens a socket that the scope closes, and waits until it is ready. */
const untilReady = (
  open: () => Socket,
  event: "connect" | "secureConnect",
  error: "connection_failed" | "tls_failed"
): Effect.Effect<Socket, ExchangeFailed, Scope.Scope> =>
  closedWithScope(
    () => {
      const socket = open()
      const ready = new Promise<void>((resolve, reject) => {
        socket.once(event, resolve)
        socket.once("close", () => reject(new Error("closed")))
        // Stays for the life of the socket, because an error without a listener would end the process.
        socket.on("error", reject)
      })
      ready.catch(() => undefined)
      return { socket, ready }
    },
    ({ socket }) => Effect.sync(() => socket.destroy())
  ).pipe(
    Effect.flatMap(({ socket, ready }) =>
      Effect.as(
        Effect.tryPromise({ try: () => ready, catch: (cause) => new ExchangeFailed({ error, cause }) }),
        socket
      )
    )
  )

const openTcp = ({ url, addresses }: CheckedTarget) =>
  untilReady(
    () =>
      connectTcp({
        host: hostOf(url),
        port: Number(url.port || 443),
        lookup: pinnedLookup(addresses.slice(0, MAX_ADDRESSES_TRIED)),
        autoSelectFamily: true,
        autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
        noDelay: true
      }),
    "connect",
    "connection_failed"
  )

const openTls = (socket: Socket, url: URL, ca: string | undefined) => {
  const host = hostOf(url)
  return untilReady(
    () =>
      connectTls({
        socket,
        host,
        // An address has no place in SNI (RFC 6066 section 3); its certificate is checked against the host.
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ALPNProtocols: ["http/1.1"],
        minVersion: "TLSv1.2",
        // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot turn it off.
        rejectUnauthorized: true,
        ...(ca === undefined ? {} : { ca })
      }),
    "secureConnect",
    "tls_failed"
  )
}

/**
 * Connects to one of the checked addresses and to nothing else; for https the certificate must be the host's. Each
 * connection is new, with a full handshake, and ends with its scope. The remote address is checked again before anything is
 * sent.
 */
export const connectTo = Effect.fnUntraced(function* (
  target: CheckedTarget,
  ca: string | undefined
): Effect.fn.Return<Socket, ExchangeFailed | TargetRefused, Scope.Scope> {
  const socket = yield* openTcp(target)
  if (!target.isPermitted(socket.remoteAddress ?? "")) {
    return yield* new TargetRefused({ reason: "address_not_public" })
  }
  return target.url.protocol === "https:" ? yield* openTls(socket, target.url, ca) : socket
})
