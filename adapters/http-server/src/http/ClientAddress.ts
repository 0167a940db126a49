import { BlockList, isIP, isIPv4 } from "node:net"
import ipaddr from "ipaddr.js"

/** The proxies whose `X-Forwarded-For` is trusted. */
export interface TrustedProxies {
  readonly include: (address: string) => boolean
}

/** Clients connect directly. */
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

/** Parses a comma-separated list of addresses and CIDR ranges. */
export const parseTrustedProxies = (text: string): TrustedProxies | undefined => {
  const proxies = new BlockList()
  if (!text.split(",").every((entry) => addProxy(proxies, entry.trim()))) return undefined
  return { include: (address) => proxies.check(address, familyOf(address)) }
}

/** The forms with ports and brackets that some proxies write, such as `203.0.113.7:4711` and `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:(\d[\d.]*)|\[([\da-f:.]+)\])(?::\d{1,5})?$/iu

/** What precedes an IPv4 address as a socket that listens on IPv6 too names it. */
const MAPPED = "::ffff:"

/** Without a zone, and IPv4-mapped IPv6 addresses as IPv4. */
const canonical = (text: string): string | undefined => {
  // Nearly all peers, and IPv4 has no other form.
  const bare = text.startsWith(MAPPED) ? text.slice(MAPPED.length) : text
  if (isIPv4(bare)) return bare
  const [, v4, v6] = WITH_PORT.exec(text) ?? []
  const address = (v4 ?? v6 ?? text).split("%")[0]!
  return isIP(address) === 0 ? undefined : ipaddr.process(address).toString()
}

/**
 * The address of the client: the peer's, or, behind trusted proxies, the rightmost one in `X-Forwarded-For` that is not a
 * trusted proxy's. Entries to the left of it are the client's own claim. An entry that is not an address ends the search at
 * the proxy that wrote it. `Forwarded` is not read, since a proxy that sets one of the two headers passes the other on as
 * received. Empty if the connection is closed.
 */
export const clientAddressOf = (
  peer: string | undefined,
  forwardedFor: string | undefined,
  proxies: TrustedProxies
): string => {
  let address = peer === undefined ? undefined : canonical(peer)
  if (address === undefined || !proxies.include(address)) return address ?? ""
  const hops = (forwardedFor ?? "").split(",").map((hop) => canonical(hop.trim()))
  while (address !== undefined && proxies.include(address)) {
    const hop = hops.pop()
    if (hop === undefined) break
    address = hop
  }
  return address ?? ""
}

/** Groups of the /64 prefix, the smallest network that providers assign to a customer. */
const NETWORK_GROUPS = 4

/** The well-known NAT64 prefix (RFC 6052, section 2.1). */
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96")

/** The unit that limits per client count by: an IPv4 address, behind NAT64 too, or an IPv6 /64. */
export const networkOf = (address: string): string => {
  if (isIP(address) !== 6) return address
  const parsed = ipaddr.IPv6.parse(address)
  if (parsed.match(NAT64)) return parsed.toByteArray().slice(-4).join(".")
  const groups = parsed.parts.slice(0, NETWORK_GROUPS)
  return `${groups.map((group) => group.toString(16)).join(":")}::/64`
}
