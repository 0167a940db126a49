import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import ipaddr from "ipaddr.js"
import { clientAddressOf, NO_PROXIES, networkOf, parseTrustedProxies } from "./ClientAddress.ts"

const proxies = parseTrustedProxies("10.0.0.0/8, 192.0.2.1,2001:db8:1::/48")!

describe("clientAddressOf", () => {
  for (const [what, peer, forwardedFor, expected] of [
    ["is the peer's", "203.0.113.7", undefined, "203.0.113.7"],
    ["is not what a peer says that nobody trusts", "203.0.113.7", "198.51.100.1", "203.0.113.7"],
    ["is what a proxy says", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["is the rightmost that is no proxy's", "10.0.0.1", "1.1.1.1, 198.51.100.1, 10.2.3.4", "198.51.100.1"],
    ["is found behind proxies of both kinds", "2001:db8:1::9", "198.51.100.1,192.0.2.1", "198.51.100.1"],
    ["is the proxy's that says nothing", "10.0.0.1", undefined, "10.0.0.1"],
    ["is the outermost proxy's when all are", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["is the proxy's that wrote no address", "10.0.0.1", "198.51.100.1, unknown, 10.0.0.2", "10.0.0.2"],
    ["is not an octal form", "10.0.0.1", "0177.0.0.1", "10.0.0.1"],
    ["may come with a port", "10.0.0.1", "198.51.100.1:4711", "198.51.100.1"],
    ["may come in brackets", "10.0.0.1", "[2001:DB8:2::1]:4711", "2001:db8:2::1"],
    ["is IPv4 where it comes mapped", "::ffff:203.0.113.7", undefined, "203.0.113.7"],
    ["is a mapped proxy's", "::ffff:10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"],
    ["has no zone", "fe80::1%eth0", undefined, "fe80::1"],
    ["is empty once the connection is gone", undefined, "198.51.100.1", ""]
  ] as const) {
    it(what, () => assert.strictEqual(clientAddressOf(peer, forwardedFor, proxies), expected))
  }

  it("is the peer's without trusted proxies", () => {
    assert.strictEqual(clientAddressOf("127.0.0.1", "198.51.100.1", NO_PROXIES), "127.0.0.1")
  })

  it("is the shortest form of the address that the peer names in any form", () => {
    const peer = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.tuple(fc.constantFrom("::ffff:", "::FFFF:", "::"), fc.ipV4()).map((parts) => parts.join(""))
    )
    fc.assert(
      fc.property(peer, (text) => {
        assert.strictEqual(clientAddressOf(text, undefined, NO_PROXIES), ipaddr.process(text).toString())
      })
    )
  })

  it("counts by /64 in IPv6", () => {
    assert.strictEqual(networkOf("203.0.113.7"), "203.0.113.7")
    assert.strictEqual(networkOf("2001:db8::1:2:3:4"), networkOf("2001:db8::ffff"))
    assert.notStrictEqual(networkOf("2001:db8::1"), networkOf("2001:db8:0:1::1"))
  })

  it("counts by the IPv4 address behind a NAT64", () => {
    assert.strictEqual(networkOf("64:ff9b::203.0.113.7"), "203.0.113.7")
    assert.strictEqual(networkOf("64:ff9b::cb00:7107"), "203.0.113.7")
  })
})

describe("parseTrustedProxies", () => {
  for (const text of [
    "",
    "10.0.0.0/33",
    "2001:db8::/129",
    "10.0.0",
    "proxy.example",
    "10.0.0.1,,10.0.0.2",
    "fe80::1%eth0",
    "10.0.0.1/",
    "::1/64/2"
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.isUndefined(parseTrustedProxies(text)))
  }

  it("includes every address with /0", () => {
    const all = parseTrustedProxies("0.0.0.0/0,::/0")!
    assert.isTrue(all.include("203.0.113.7"))
    assert.isTrue(all.include("2001:db8::1"))
  })
})
