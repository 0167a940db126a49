import ipaddr from "ipaddr.js"

type Address = ReturnType<typeof ipaddr.parse>

const range = (text: string) => ipaddr.parseCIDR(text)

/**
 * IPv4 that is not the public Internet's: every entry of the IANA special-purpose registry (RFC 6890), those that are
 * globally reachable too, since none is any receiver's; multicast; and what is reserved.
 */
const SPECIAL_IPV4 = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local, metadata services
  "172.16.0.0/12", // private
  "192.0.0.0/24", // IETF protocol assignments, DS-Lite, NAT64 discovery, anycast of PCP and TURN
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // automatic multicast tunnelling
  "192.88.99.0/24", // 6to4 relays, 6a44
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarking
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4" // reserved, broadcast
].map(range)

/**
 * Addresses from public space that a cloud provider serves to its own machines: each sees its own platform there, whatever
 * the Internet would find. The metadata services of the others are link-local, unique local or in the ranges above.
 */
const PLATFORM_IPV4 = [
  "34.126.0.0/18", // Google Cloud: Google's services, directly
  "161.26.0.0/16", // IBM Cloud: infrastructure services
  "166.8.0.0/14", // IBM Cloud: service endpoints
  "168.63.129.16/32", // Azure: WireServer, DNS, DHCP, health probes
  "192.80.8.124/32", // Equinix Metal: metadata
  "199.36.153.4/30", // Google Cloud: restricted.googleapis.com
  "199.36.153.8/30" // Google Cloud: private.googleapis.com
].map(range)

/** The only IPv6 that is handed out as public (RFC 4291 section 2.4, IANA's list of global unicast). */
const GLOBAL_UNICAST = range("2000::/3")

/**
 * IPv6 inside of it that is special, or reaches an IPv4 address by a tunnel. Outside of it, and so refused with the
 * rest: `::`, `::1`, IPv4-mapped, -compatible and -translated, NAT64 (64:ff9b::/96, 64:ff9b:1::/48), discard-only,
 * segment routing, unique local, link-local, site-local and multicast.
 */
const SPECIAL_IPV6 = [
  "2001::/23", // IETF protocol assignments: Teredo, benchmarking, AMT, AS112, ORCHID, drone identifiers
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3ffe::/16", // the 6bone, returned
  "3fff::/20" // documentation
].map(range)

const PLATFORM_IPV6 = [
  "2001:4860:8040::/42", // Google Cloud: Google's services, directly
  "2600:2d00:2:1000::/56", // Google Cloud: restricted.googleapis.com
  "2600:2d00:2:2000::/56" // Google Cloud: private.googleapis.com
].map(range)

/** The middle of an interface identifier that carries an IPv4 address (ISATAP, RFC 5214 section 6.1). */
const ISATAP_GROUP = 0x5efe
const ISATAP_UNIQUE_BIT = 0x0200

const LOOPBACK = ["127.0.0.0/8", "::1/128"].map(range)

const CANONICAL_IPV4 = /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/
const IPV6 = /^[0-9a-f:.]+$/i

/** Addresses as resolvers and sockets write them: four decimal numbers, or IPv6 without a zone. */
const parse = (text: string): Address | undefined => {
  if (!CANONICAL_IPV4.test(text) && !(text.includes(":") && IPV6.test(text))) return undefined
  return ipaddr.isValid(text) ? ipaddr.parse(text) : undefined
}

const isWithin = (address: Address, ranges: ReadonlyArray<ReturnType<typeof range>>): boolean =>
  ranges.some((each) => each[0].kind() === address.kind() && address.match(each))

const isIsatap = (address: Address): boolean => {
  if (!("parts" in address)) return false
  const [, , , , high = 0, low] = address.parts
  return (high & ~ISATAP_UNIQUE_BIT) === 0 && low === ISATAP_GROUP
}

/**
 * Whether an address is one of the public Internet, which a webhook may be sent to (part 8, target guard). Anything
 * that is not an address in its plain spelling, such as one with a zone, is not.
 */
export const isPublicAddress = (text: string): boolean => {
  const address = parse(text)
  if (address === undefined) return false
  if (address.kind() === "ipv4") return !isWithin(address, [...SPECIAL_IPV4, ...PLATFORM_IPV4])
  if (isWithin(address, [...SPECIAL_IPV6, ...PLATFORM_IPV6])) return false
  return isWithin(address, [GLOBAL_UNICAST]) && !isIsatap(address)
}

/** Whether an address is this machine: 127.0.0.0/8 or `::1`, not one that embeds them. */
export const isLoopbackAddress = (text: string): boolean => {
  const address = parse(text)
  return address !== undefined && isWithin(address, LOOPBACK)
}
