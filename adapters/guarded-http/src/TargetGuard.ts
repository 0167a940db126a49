import { isIP } from "node:net"
import { TargetRefused } from "@svc/domain/ports/WebhookTransport"
import { isLoopbackHost, readTarget } from "@svc/domain/webhook/WebhookTarget"
import { Effect, Result } from "effect"
import type { ResolutionFailed, Resolve } from "./NameResolver.ts"
import { isLoopbackAddress, isPublicAddress } from "./PublicAddress.ts"

/** What decides whether a target may be connected to (part 8, target guard). */
export interface TargetGuard {
  /** A deployment of the test environment may allow loopback targets, then over http too. */
  readonly loopbackAllowed: boolean
  readonly resolve: Resolve
  /** What counts as public: the public Internet, unless a test says otherwise. */
  readonly isPublic?: (address: string) => boolean
}

/** A target whose form and addresses have been checked, and the only addresses that it may be reached at. */
export interface CheckedTarget {
  readonly url: URL
  /** Not empty. */
  readonly addresses: ReadonlyArray<string>
  /** Whether this very address may be connected to. */
  readonly isPermitted: (address: string) => boolean
}

const LOCALHOST_ADDRESSES = ["127.0.0.1", "::1"]

/** The host without the brackets of IPv6. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/gu, "")

/** `localhost` is this machine by definition (RFC 6761 section 6.3): no name server is asked about it. */
const addressesOf = (url: URL, resolve: Resolve): Effect.Effect<ReadonlyArray<string>, ResolutionFailed> => {
  const host = hostOf(url)
  if (!isLoopbackHost(url)) return resolve(host)
  return Effect.succeed(isIP(host) === 0 ? LOCALHOST_ADDRESSES : [host])
}

const permission = ({ loopbackAllowed, isPublic = isPublicAddress }: TargetGuard, url: URL) => {
  const isSecure = url.protocol === "https:"
  return (address: string): boolean =>
    (isSecure && isPublic(address)) || (loopbackAllowed && isLoopbackAddress(address))
}

/**
 * Checks the form of a target, resolves its name, and refuses it if any address is not permitted. Runs for every attempt,
 * since a name may resolve differently each time.
 */
export const checkTarget = Effect.fnUntraced(function* (
  guard: TargetGuard,
  target: string
): Effect.fn.Return<CheckedTarget, TargetRefused | ResolutionFailed> {
  const read = readTarget(target, guard)
  if (Result.isFailure(read)) return yield* new TargetRefused({ reason: "form", form: read.failure })
  const url = read.success
  const addresses = yield* addressesOf(url, guard.resolve)
  if (addresses.length === 0) return yield* new TargetRefused({ reason: "name_unresolved" })
  const isPermitted = permission(guard, url)
  if (!addresses.every(isPermitted)) return yield* new TargetRefused({ reason: "address_not_public" })
  return { url, addresses, isPermitted }
})
