import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import type { Organization } from "@svc/domain/organization/Organization"
import type { Asking } from "@svc/http-server/test/ApprovalVisitor"
import type { RawAnswer } from "@svc/http-server/test/RawExchange"
import { NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Clock, Effect, Exit, Scope } from "effect"
import { startService } from "../ServiceUnderTest.ts"
import type { SelfSignedCertificate } from "./SelfSignedCertificate.ts"
import { openShop, type ShopRequest } from "./ShopUnderTest.ts"

/** How long a session lives, in milliseconds (part 6). */
export const SESSION_MS = 300_000

export interface SiteOptions {
  /** Default: everything on `http://localhost`, as the development server has it. */
  readonly certificate?: SelfSignedCertificate
}

/** A link that a person was given. */
export interface ApprovalLink {
  readonly mandateId: string
  readonly sessionId: string
  readonly subject: string
  readonly token: string
  readonly url: string
}

export interface LinkOptions {
  /** Default: somebody new. */
  readonly subject?: string
  /** Members of the mandate that replace those of a plain one. */
  readonly mandate?: object
  readonly mandateId?: string
  readonly organization?: Partial<Organization>
}

interface Json {
  // Answers of the API, as whoever asked expects them.
  // biome-ignore lint/suspicious/noExplicitAny: a test that expects too much fails
  readonly [name: string]: any
}

/** The service with its two real listeners, and a shop to come back to. */
export interface ApprovalSite {
  /** Of the approval pages. */
  readonly origin: string
  /** Port of the API's listener. */
  readonly apiPort: number
  /** Where people come from and go back to: another site than the approval pages' when over HTTPS. */
  readonly shopOrigin: string
  /** The same listener as the shop's under a name that has nothing to do with either. */
  readonly attackerOrigin: string
  readonly requests: Array<ShopRequest>
  /** Every line of the service's log. */
  readonly log: ReadonlyArray<string>
  /** Makes a mandate (unless one is named) and a session for its subject. */
  readonly newLink: (options?: LinkOptions) => Promise<ApprovalLink>
  readonly mandate: (mandateId: string) => Promise<Json>
  /** `data.approval` of the mandate's `mandate.approved` event. */
  readonly approval: (mandateId: string) => Promise<Json>
  readonly eventTypes: (mandateId: string) => Promise<ReadonlyArray<string>>
  /** Retires every passkey of a subject, as its caller does when a device was lost. */
  readonly retirePasskeys: (subject: string) => Promise<void>
  /** One request to the approval listener itself, with these headers and no others. */
  readonly request: (path: string, asking?: Asking) => Promise<RawAnswer>
  /** Sets the clock of the service forward, in milliseconds. */
  readonly advance: (milliseconds: number) => void
  /** Takes the store out of reach, or brings it back. */
  readonly setStoreOut: (isOut: boolean) => void
  readonly close: () => Promise<void>
}

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** The clock of this machine, and what it was set forward by. */
const makeClock = () => {
  let ahead = 0n
  const host = Effect.runSync(Clock.clockWith(Effect.succeed))
  const nanos = () => host.currentTimeNanosUnsafe() + ahead
  const millis = () => Number(nanos() / NANOS_PER_MILLISECOND)
  const clock: Clock.Clock = Object.assign(Object.create(host), {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos)
  })
  const advance = (milliseconds: number) => {
    ahead += BigInt(milliseconds) * NANOS_PER_MILLISECOND
  }
  return { advance, clock }
}

/** What a deployment has before its listener for HTTPS: it opens the bytes and passes them on as they are. */
const openTlsFront = async (certificate: SelfSignedCertificate, port: number, target: number) => {
  const sockets = new Set<Socket>()
  const server = createTlsServer({ ...certificate }, (socket) => {
    const inner = connect(target, "127.0.0.1")
    for (const end of [socket, inner]) {
      sockets.add(end)
      end.on("error", () => inner.destroy(socket.destroy().errored ?? undefined))
      end.on("close", () => sockets.delete(end))
    }
    socket.pipe(inner).pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  return async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
}

let drawn = 0
/** Somebody whom no other test knows. */
export const newSubject = (): string => {
  drawn += 1
  return `user_${drawn}`
}

/** Opens the site; it must be closed. */
export const openSite = async ({ certificate }: SiteOptions = {}): Promise<ApprovalSite> => {
  const isSecure = certificate !== undefined
  const port = await freePort()
  const origin = isSecure ? `https://approve.example:${port}` : `http://localhost:${port}`
  const shop = await openShop(certificate)
  const scheme = isSecure ? "https" : "http"
  const shopOrigin = `${scheme}://${isSecure ? "shop.example" : "localhost"}:${shop.port}`
  const attackerOrigin = `${scheme}://attacker.example:${shop.port}`
  const { advance, clock } = makeClock()
  const scope = Scope.makeUnsafe()
  const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
    Effect.runPromise(
      effect.pipe(Effect.provideService(Clock.Clock, clock), Effect.provideService(Scope.Scope, scope))
    )
  const service = await run(
    startService({
      approvalOrigin: origin,
      ...(isSecure ? {} : { approvalPort: port })
    })
  )
  const closeFront = isSecure ? await openTlsFront(certificate, port, service.approvalPort) : undefined
  const returnOrigins = [shopOrigin]
  const tenant = await run(service.makeTenant({ returnOrigins }))
  const tenantOf = (organization: LinkOptions["organization"]) =>
    organization === undefined
      ? Promise.resolve(tenant)
      : run(service.makeTenant({ returnOrigins, ...organization }))

  const newLink = async (options: LinkOptions = {}): Promise<ApprovalLink> => {
    const caller = await tenantOf(options.organization)
    const subject = options.subject ?? newSubject()
    const mandateId =
      options.mandateId ??
      (
        await run(
          caller.newMandate({ subject_reference: subject, description: "A book", ...options.mandate })
        )
      ).id
    const identity_assertion = await run(caller.assertionFor({ subject }))
    const return_url = `${shopOrigin}/return?order=7`
    const session = await run(caller.openSession(mandateId, { identity_assertion, return_url }))
    return { mandateId, sessionId: session.id, subject, token: session.token, url: origin + session.path }
  }

  return {
    origin,
    apiPort: service.apiPort,
    shopOrigin,
    attackerOrigin,
    requests: shop.requests,
    log: service.log,
    newLink,
    mandate: (mandateId) => run(tenant.get(`/v1/mandates/${mandateId}`)),
    approval: async (mandateId) => {
      const { data } = await run(tenant.get(`/v1/mandates/${mandateId}/events?limit=100`))
      return data.find((event: Json) => event.type === "mandate.approved").data.approval
    },
    eventTypes: (mandateId) => run(tenant.eventTypes(mandateId)),
    retirePasskeys: async (subject) => {
      const path = `/v1/subjects/${subject}/passkeys`
      for (const { id } of (await run(tenant.get(path))).data) {
        await run(tenant.send({ method: "DELETE", path: `${path}/${id}` }))
      }
    },
    request: (path, asking) => run(service.request(path, asking)),
    advance,
    setStoreOut: (isOut) => {
      service.watch.fault = isOut ? "unavailable" : undefined
    },
    close: async () => {
      await closeFront?.()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await shop.close()
    }
  }
}
