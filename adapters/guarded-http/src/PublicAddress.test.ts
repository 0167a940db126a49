import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { isLoopbackAddress, isPublicAddress } from "./PublicAddress.ts"

/** Addresses as numbers, by arithmetic of this test's own. */
const ipv4 = (text: string): bigint => text.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n)
const writeIpv4 = (value: bigint): string =>
  [24n, 16n, 8n, 0n].map((bits) => (value >> bits) & 255n).join(".")

const ipv6 = (text: string): bigint => {
  const [head = "", tail] = text.split("::")
  const groups = (part: string) => (part === "" ? [] : part.split(":"))
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length
  return [...groups(head), ...Array<string>(zeros).fill("0"), ...groups(tail ?? "")].reduce(
    (sum, group) => sum * 65_536n + BigInt(`0x${group}`),
    0n
  )
}
const writeIpv6 = (value: bigint): string =>
  Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16)).join(
    ":"
  )

interface Family {
  readonly bits: number
  readonly read: (text: string) => bigint
  readonly write: (value: bigint) => string
}
const IPV4: Family = { bits: 32, read: ipv4, write: writeIpv4 }
const IPV6: Family = { bits: 128, read: ipv6, write: writeIpv6 }

const boundsOf = (cidr: string, family: Family) => {
  const [base = "", length] = cidr.split("/")
  const first = family.read(base)
  const last = first + (1n << BigInt(family.bits - Number(length))) - 1n
  return { first, last, max: (1n << BigInt(family.bits)) - 1n }
}

/** Range, its name in the registry, and whether the addresses right before and after it are public. */
type Row = readonly [cidr: string, name: string, before: boolean, after: boolean]

/** IANA IPv4 Special-Purpose Address Registry, every entry, and the two blocks that are in no such list. */
const IPV4_ROWS: ReadonlyArray<Row> = [
  ["0.0.0.0/8", "this network", false, true],
  ["0.0.0.0/32", "this host on this network", false, false],
  ["10.0.0.0/8", "private use", true, true],
  ["100.64.0.0/10", "shared address space", true, true],
  ["127.0.0.0/8", "loopback", true, true],
  ["169.254.0.0/16", "link-local", true, true],
  ["172.16.0.0/12", "private use", true, true],
  ["192.0.0.0/24", "IETF protocol assignments", true, true],
  ["192.0.0.0/29", "IPv4 service continuity prefix", true, false],
  ["192.0.0.8/32", "IPv4 dummy address", false, false],
  ["192.0.0.9/32", "port control protocol anycast", false, false],
  ["192.0.0.10/32", "TURN anycast", false, false],
  ["192.0.0.170/32", "NAT64/DNS64 discovery", false, false],
  ["192.0.0.171/32", "NAT64/DNS64 discovery", false, false],
  ["192.0.2.0/24", "documentation (TEST-NET-1)", true, true],
  ["192.31.196.0/24", "AS112-v4", true, true],
  ["192.52.193.0/24", "AMT", true, true],
  ["192.88.99.0/24", "6to4 relay anycast", true, true],
  ["192.88.99.2/32", "6a44 relay anycast", false, false],
  ["192.168.0.0/16", "private use", true, true],
  ["192.175.48.0/24", "direct delegation AS112", true, true],
  ["198.18.0.0/15", "benchmarking", true, true],
  ["198.51.100.0/24", "documentation (TEST-NET-2)", true, true],
  ["203.0.113.0/24", "documentation (TEST-NET-3)", true, true],
  ["224.0.0.0/4", "multicast", true, false],
  ["240.0.0.0/4", "reserved", false, false],
  ["255.255.255.255/32", "limited broadcast", false, false]
]

/** IANA IPv6 Special-Purpose Address Registry, every entry, and what else embeds IPv4 or was given back. */
const IPV6_ROWS: ReadonlyArray<Row> = [
  ["::/128", "unspecified", false, false],
  ["::1/128", "loopback", false, false],
  ["::/96", "IPv4-compatible", false, false],
  ["::ffff:0:0/96", "IPv4-mapped", false, false],
  ["::ffff:0:0:0/96", "IPv4-translated", false, false],
  ["64:ff9b::/96", "NAT64", false, false],
  ["64:ff9b:1::/48", "NAT64, local use", false, false],
  ["100::/64", "discard-only", false, false],
  ["100:0:0:1::/64", "dummy prefix", false, false],
  ["2001::/23", "IETF protocol assignments", true, true],
  ["2001::/32", "Teredo", true, false],
  ["2001:1::1/128", "port control protocol anycast", false, false],
  ["2001:1::2/128", "TURN anycast", false, false],
  ["2001:1::3/128", "DNS-SD service registration anycast", false, false],
  ["2001:2::/48", "benchmarking", false, false],
  ["2001:3::/32", "AMT", false, false],
  ["2001:4:112::/48", "AS112-v6", false, false],
  ["2001:10::/28", "ORCHID", false, false],
  ["2001:20::/28", "ORCHIDv2", false, false],
  ["2001:30::/28", "drone remote identifiers", false, false],
  ["2001:db8::/32", "documentation", true, true],
  ["2002::/16", "6to4", true, true],
  ["2620:4f:8000::/48", "direct delegation AS112", true, true],
  ["3ffe::/16", "6bone", true, false],
  ["3fff::/20", "documentation", false, true],
  ["5f00::/16", "segment routing", false, false],
  ["fc00::/7", "unique local", false, false],
  ["fe80::/10", "link-local", false, false],
  ["fec0::/10", "site-local", false, false],
  ["ff00::/8", "multicast", false, false]
]

/** Ranges of public space that a provider serves to its own machines, by the provider's documentation. */
const PLATFORM_IPV4_ROWS: ReadonlyArray<Row> = [
  ["34.126.0.0/18", "Google Cloud, Private Google Access: Google's services, directly", true, true],
  ["161.26.0.0/16", "IBM Cloud, VPC: infrastructure services", true, true],
  ["166.8.0.0/14", "IBM Cloud, VPC: service endpoints", true, true],
  ["168.63.129.16/32", "Azure: what is IP address 168.63.129.16", true, true],
  ["192.80.8.124/32", "Equinix Metal: metadata.platformequinix.com", true, true],
  ["199.36.153.4/30", "Google Cloud, Private Google Access: restricted.googleapis.com", true, false],
  ["199.36.153.8/30", "Google Cloud, Private Google Access: private.googleapis.com", false, true]
]
const PLATFORM_IPV6_ROWS: ReadonlyArray<Row> = [
  ["2001:4860:8040::/42", "Google Cloud, Private Google Access: Google's services, directly", true, true],
  ["2600:2d00:2:1000::/56", "Google Cloud, Private Google Access: restricted.googleapis.com", true, true],
  ["2600:2d00:2:2000::/56", "Google Cloud, Private Google Access: private.googleapis.com", true, true]
]

/** Where machines find their metadata, credentials and name servers, by the documentation of each platform. */
const PLATFORM_ADDRESSES: ReadonlyArray<readonly [address: string, platform: string]> = [
  ["169.254.169.254", "AWS, Azure, Google Cloud, Oracle, DigitalOcean, Hetzner, Vultr, OpenStack: metadata"],
  ["169.254.170.2", "AWS ECS: task credentials"],
  ["169.254.170.23", "AWS EKS: pod identity"],
  ["169.254.169.253", "AWS: name server"],
  ["169.254.169.123", "AWS: time"],
  ["fd00:ec2::254", "AWS: metadata over IPv6"],
  ["fd00:ec2::253", "AWS: name server over IPv6"],
  ["fd00:ec2::23", "AWS EKS: pod identity over IPv6"],
  ["fd20:ce::254", "Google Cloud: metadata over IPv6"],
  ["168.63.129.16", "Azure: WireServer and name server"],
  ["fe80::1234:5678:9abc", "Azure: health probes over IPv6"],
  ["192.0.0.192", "Oracle Cloud Classic: metadata"],
  ["100.100.100.200", "Alibaba Cloud: metadata"],
  ["100.100.2.136", "Alibaba Cloud: name server"],
  ["169.254.0.23", "Tencent Cloud: metadata.tencentyun.com"],
  ["169.254.10.10", "Tencent Cloud: metadata.tencentyun.com"],
  ["fe80::a9fe:a9fe", "OpenStack, Huawei Cloud: metadata over IPv6"],
  ["169.254.42.42", "Scaleway: metadata"],
  ["fd00:42::42", "Scaleway: metadata over IPv6"],
  ["fd00:a9fe:a9fe::1", "Akamai (Linode): metadata over IPv6"],
  ["192.80.8.124", "Equinix Metal: metadata"],
  ["161.26.0.10", "IBM Cloud: name server"],
  ["166.9.0.1", "IBM Cloud: service endpoint"],
  ["199.36.153.8", "Google Cloud: private.googleapis.com"],
  ["10.96.0.1", "Kubernetes: default address of the API server"],
  ["fd00:10:96::1", "Kubernetes (kind): API server over IPv6"],
  ["127.0.0.53", "systemd-resolved: name server"]
]

const table = (title: string, rows: ReadonlyArray<Row>, family: Family) =>
  describe(title, () => {
    for (const [cidr, name, before, after] of rows) {
      it(`${cidr}, ${name}`, () => {
        const { first, last, max } = boundsOf(cidr, family)
        const isPublic = (value: bigint) => isPublicAddress(family.write(value))
        assert.isFalse(isPublic(first))
        assert.isFalse(isPublic(last))
        assert.isFalse(isPublic((first + last) / 2n))
        if (first > 0n) assert.strictEqual(isPublic(first - 1n), before, family.write(first - 1n))
        if (last < max) assert.strictEqual(isPublic(last + 1n), after, family.write(last + 1n))
      })
    }

    const any = fc.bigInt({ min: 0n, max: (1n << BigInt(family.bits)) - 1n })
    it("has nothing public in any of them", () => {
      fc.assert(
        fc.property(fc.constantFrom(...rows), any, ([cidr], offset) => {
          const { first, last } = boundsOf(cidr, family)
          assert.isFalse(isPublicAddress(family.write(first + (offset % (last - first + 1n)))))
        })
      )
    })
    it("is public or not, and no loopback is public", () => {
      fc.assert(
        fc.property(any, (value) => {
          const text = family.write(value)
          if (isLoopbackAddress(text)) assert.isFalse(isPublicAddress(text))
        })
      )
    })
  })

table("IPv4", IPV4_ROWS, IPV4)
table("IPv6", IPV6_ROWS, IPV6)
table("IPv4 of platforms", PLATFORM_IPV4_ROWS, IPV4)
table("IPv6 of platforms", PLATFORM_IPV6_ROWS, IPV6)

describe("addresses of platforms", () => {
  for (const [address, platform] of PLATFORM_ADDRESSES) {
    it(`${address}, ${platform}`, () => assert.isFalse(isPublicAddress(address)))
  }
})

describe("isPublicAddress", () => {
  for (const text of [
    "1.1.1.1",
    "93.184.215.14",
    "223.255.255.255",
    "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
    "2A00:1450:4001:82A::200E",
    "2000::",
    "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    // An interface identifier that only resembles ISATAP's.
    "2606:4700::1:5efe:10.0.0.1"
  ]) {
    it(`takes ${text}`, () => assert.isTrue(isPublicAddress(text)))
  }

  it("refuses whatever lies outside of 2000::/3", () => {
    const { first, last } = boundsOf("2000::/3", IPV6)
    assert.isFalse(isPublicAddress(writeIpv6(first - 1n)))
    assert.isFalse(isPublicAddress(writeIpv6(last + 1n)))
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), (value) => {
        assert.isFalse((value < first || value > last) && isPublicAddress(writeIpv6(value)))
      })
    )
  })

  const embeddings: Readonly<Record<string, (address: string) => string>> = {
    mapped: (address) => `::ffff:${address}`,
    compatible: (address) => `::${address}`,
    translated: (address) => `::ffff:0:${address}`,
    NAT64: (address) => `64:ff9b::${address}`,
    "NAT64 of local use": (address) => `64:ff9b:1::${address}`,
    "6to4": (address) => writeIpv6((0x2002n << 112n) | (ipv4(address) << 80n)),
    Teredo: (address) => writeIpv6((0x20010000n << 96n) | (ipv4(address) ^ 0xffffffffn)),
    ISATAP: (address) => `2606:4700::0:5efe:${address}`,
    "ISATAP, globally unique": (address) => `2606:4700::200:5efe:${address}`
  }
  for (const [title, embed] of Object.entries(embeddings)) {
    it(`refuses every IPv4 address, public ones too, as ${title}`, () => {
      fc.assert(
        fc.property(fc.bigInt({ min: 0n, max: 0xffffffffn }), (value) => {
          assert.isFalse(isPublicAddress(embed(writeIpv4(value))))
        })
      )
      for (const address of ["127.0.0.1", "10.0.0.1", "169.254.169.254", "168.63.129.16", "1.1.1.1"]) {
        assert.isFalse(isPublicAddress(embed(address)), embed(address))
        assert.isFalse(isLoopbackAddress(embed(address)), embed(address))
      }
    })
  }

  for (const text of [
    "",
    "hooks.example",
    "1.1.1",
    "1.1.1.1.",
    "1.1.1.1.1",
    "01.1.1.1",
    "0x1.1.1.1",
    "16843009",
    "1.1.1.256",
    " 1.1.1.1",
    "1.1.1.1/32",
    "1.1.1.1:443",
    "１.1.1.1",
    "[2606:4700::1]",
    "2606:4700::1%eth0",
    "2606:4700::1%25eth0",
    "fe80::1%1",
    "2606:4700:::1",
    "2606:4700::1::1",
    "2606:4700::12345",
    "2606:4700::1/128"
  ]) {
    it(`takes ${JSON.stringify(text)} for no address at all`, () => {
      assert.isFalse(isPublicAddress(text))
      assert.isFalse(isLoopbackAddress(text))
    })
  }
})

describe("isLoopbackAddress", () => {
  for (const text of ["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1", "0:0:0:0:0:0:0:1"]) {
    it(`takes ${text}`, () => assert.isTrue(isLoopbackAddress(text)))
  }
  for (const text of ["126.255.255.255", "128.0.0.0", "0.0.0.0", "::", "::2", "::ffff:127.0.0.1", "::1%lo"]) {
    it(`does not take ${text}`, () => assert.isFalse(isLoopbackAddress(text)))
  }
})
