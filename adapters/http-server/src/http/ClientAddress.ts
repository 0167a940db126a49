import { BlockList, isIP } from "node:net"
import ipaddr from "ipaddr.js"

/** Which peers are proxies of the deployment's own, so that what they say of the client's address counts. */
export interface TrustedProxies {
  readonly include: (address: string) => boolean
}

/** A deployment that clients reach directly. */
export const NO_PROXIES: TrustedProxies = { include: () => false }

const familyOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 4 ? "ipv4" : "ipv6")

const MAX_PREFIX = { ipv4: 32, ipv6: 128 } as const

const addProxy = (proxies: BlockList, entry: string): boolean => {
  const [, address = "", prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/u.exec(entry) ?? []
  if (isIP(address) === 0) return false
  const family = familyOf(address)
  if (prefix === undefined) proxies.addAddress(address, family)
  else if (Number(prefix) > MAX_PREFIX[family]) return false
  else proxies.addSubnet(address, Number(prefix), family)
  return true
}

/** Addresses and CIDR ranges, with commas between them. */
export const parseTrustedProxies = (text: string): TrustedProxies | undefined => {
  const proxies = new BlockList()
  if (!text.split(",").every((entry) => addProxy(proxies, entry.trim()))) return undefined
  return { include: (address) => proxies.check(address, familyOf(address)) }
}

/** `203.0.113.7:4711`, `[2001:db8::1]:4711`, `[2001:db8::1]`: as some proxies write an address. */
const WITH_PORT = /^(?:(\d[\d.]*)|\[([\da-f:.]+)\])(?::\d{1,5})?$/iu

/** As it is compared and logged: without a zone, and IPv4 as such where it came mapped into IPv6. */
const canonical = (text: string): string | undefined => {
  const [, v4, v6] = WITH_PORT.exec(text) ?? []
  const address = (v4 ?? v6 ?? text).split("%")[0]!
  return isIP(address) === 0 ? undefined : ipaddr.process(address).toString()
}

/**
 * The address of whoever sent a request: of the peer, or, when that is a trusted proxy, the rightmost one in
 * `X-Forwarded-For` that is no trusted proxy's. What stands left of it is the client's word. An entry that is no address
 * ends the search at the proxy that wrote it. `Forwarded` is not read: a proxy that writes one of the two headers passes the
 * other on as the client wrote it. Empty when the connection is gone.
 */
export const clientAddressOf = (
  peer: string | undefined,
  forwardedFor: string | undefined,
  proxies: TrustedProxies
): string => {
  let address = peer === undefined ? undefined : canonical(peer)
  const hops = (forwardedFor ?? "").split(",").map((hop) => canonical(hop.trim()))
  while (address !== undefined && proxies.include(address)) {
    const hop = hops.pop()
    if (hop === undefined) break
    address = hop
  }
  return address ?? ""
}

/** Groups of an IPv6 address that name its network: the smallest that a customer gets is a /64. */
const NETWORK_GROUPS = 4

/** The prefix under which a NAT64 shows IPv4 addresses (RFC 6052, section 2.1). */
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96")

/** What is counted as one client: an IPv4 address, behind a NAT64 too, or the /64 of an IPv6 address. */
export const networkOf = (address: string): string => {
  if (isIP(address) !== 6) return address
  const parsed = ipaddr.IPv6.parse(address)
  if (parsed.match(NAT64)) return parsed.toByteArray().slice(-4).join(".")
  const groups = parsed.parts.slice(0, NETWORK_GROUPS)
  return `${groups.map((group) => group.toString(16)).join(":")}::/64`
}
