import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import {
  parseTarget,
  readTarget,
  type TargetFormFault,
  WEBHOOK_TARGET_MAX_CHARACTERS
} from "./WebhookTarget.ts"

const href = (text: string, loopbackAllowed = false) => parseTarget(text, { loopbackAllowed })?.href
const PREFIX = "https://hooks.example/"
const ofLength = (characters: number) => PREFIX.padEnd(characters, "a")

describe("target of a webhook endpoint", () => {
  const accepted: ReadonlyArray<readonly [string, string]> = [
    ["https://hooks.example", "https://hooks.example/"],
    ["HTTPS://Hooks.Example/Path", "https://hooks.example/Path"],
    ["https://hooks.example:443/x", "https://hooks.example/x"],
    ["https://hooks.example:/x", "https://hooks.example/x"],
    ["https://hooks.example:1024/x", "https://hooks.example:1024/x"],
    ["https://hooks.example:65535/x", "https://hooks.example:65535/x"],
    ["https://hooks.example/x?a=@&b=%20", "https://hooks.example/x?a=@&b=%20"],
    ["https://hooks.example/a/../b", "https://hooks.example/b"],
    ["https://hooks.example/ü", "https://hooks.example/%C3%BC"],
    ["https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"],
    ["https://a_b.hooks.example/", "https://a_b.hooks.example/"],
    ["https://1.hooks.example/", "https://1.hooks.example/"],
    ["https://10.0.0.1.hooks.example/", "https://10.0.0.1.hooks.example/"],
    [`https://${"a".repeat(63)}.example/`, `https://${"a".repeat(63)}.example/`],
    [ofLength(WEBHOOK_TARGET_MAX_CHARACTERS), ofLength(WEBHOOK_TARGET_MAX_CHARACTERS)]
  ]
  for (const [text, expected] of accepted) {
    it(`accepts ${text.slice(0, 80)}`, () => {
      assert.strictEqual(href(text), expected)
      assert.strictEqual(href(text, true), expected)
    })
  }

  const refused: Readonly<Record<string, string>> = {
    nothing: "",
    "plain http": "http://hooks.example/",
    "another scheme": "ftp://hooks.example/",
    "a web socket": "wss://hooks.example/",
    javascript: "javascript:alert(1)//https://hooks.example",
    "a file": "file:///etc/passwd",
    "no slashes": "https:hooks.example/",
    "one slash": "https:/hooks.example/",
    "three slashes": "https:///hooks.example/",
    "a user": "https://user@hooks.example/",
    "an empty user": "https://@hooks.example/",
    "a password": "https://a:b@hooks.example/",
    "a user that looks like the host": "https://hooks.example@10.0.0.1/",
    "a backslash": "https://hooks.example\\@evil.example/",
    "a backslash in the path": "https://hooks.example/\\",
    "a leading space": " https://hooks.example/",
    "a tab in the host": "https://hooks.exa\tmple/",
    "a line feed in the path": "https://hooks.example/a\nb",
    "a carriage return at the end": "https://hooks.example/\r",
    "U+0000": "https://hooks.example/\u0000",
    DEL: "https://hooks.example/\u007f",
    "a fragment": "https://hooks.example/x#top",
    "an empty fragment": "https://hooks.example/x#",
    "a trailing dot": "https://hooks.example./",
    "a trailing dot and a port": "https://hooks.example.:443/",
    "an escaped trailing dot": "https://hooks.example%2e/",
    "an ideographic full stop": "https://hooks。example/",
    "a single label": "https://hooks/",
    "an empty label": "https://hooks..example/",
    "a leading dot": "https://.hooks.example/",
    "a label of 64": `https://${"a".repeat(64)}.example/`,
    "a host of 254": `https://${"a.".repeat(125)}aaaa/`,
    "a host in Unicode": "https://bücher.example/",
    "an escaped host": "https://%68ooks.example/",
    "a full-width letter": "https://ｈooks.example/",
    "port 80": "https://hooks.example:80/",
    "port 22": "https://hooks.example:22/",
    "port 1023": "https://hooks.example:1023/",
    "port 0": "https://hooks.example:0/",
    "port 65536": "https://hooks.example:65536/",
    "two ports": "https://hooks.example:443:443/",
    "one character too many": ofLength(WEBHOOK_TARGET_MAX_CHARACTERS + 1),
    "too many characters once escaped": `${PREFIX}${"ü".repeat(1000)}`,
    IPv4: "https://93.184.215.14/",
    "IPv4, one number": "https://1572395022/",
    "IPv4, octal": "https://0135.0270.0327.016/",
    "IPv4, hexadecimal": "https://0x5db8d70e/",
    "IPv4, mixed": "https://0x7f.0.0.1/",
    "IPv4, two parts": "https://127.1/",
    "IPv4, three parts": "https://127.0.1/",
    "IPv4, a trailing dot": "https://127.0.0.1./",
    "IPv4, escaped": "https://%31%32%37.0.0.1/",
    "IPv4, full-width digits": "https://１２７.0.0.1/",
    "IPv4, circled digits": "https://①②⑦.0.0.①/",
    "IPv4, full-width dots": "https://127．0．0．1/",
    "a numeric top label": "https://hooks.123/",
    "a hexadecimal top label": "https://hooks.0x1f/",
    IPv6: "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
    "IPv6, mapped": "https://[::ffff:127.0.0.1]/",
    "IPv6, mapped in hexadecimal": "https://[::ffff:7f00:1]/",
    "IPv6, compatible": "https://[::127.0.0.1]/",
    "IPv6, NAT64": "https://[64:ff9b::7f00:1]/",
    "IPv6, 6to4": "https://[2002:7f00:1::]/",
    "IPv6, unspecified": "https://[::]/",
    "IPv6, a zone": "https://[fe80::1%25eth0]/",
    "IPv6 without brackets": "https://::1/",
    "loopback, another spelling": "https://[0:0:0:0:0:0:0:1]/",
    "loopback, one number": "http://2130706433:8080/",
    "loopback, octal": "http://0177.0.0.1:8080/",
    "loopback, short": "http://127.1:8080/",
    "loopback, mapped": "http://[::ffff:127.0.0.1]:8080/",
    "loopback with a user": "http://a@localhost:8080/",
    "localhost with a dot": "http://localhost.:8080/",
    "localhost, plain, on its default port": "http://localhost/",
    "localhost on a privileged port": "http://localhost:22/",
    "localhost as a suffix": "http://a.localhost:8080/",
    "unspecified IPv4": "http://0.0.0.0:8080/",
    "a private address": "http://10.0.0.1:8080/",
    "the metadata service": "http://169.254.169.254/latest/"
  }
  for (const [title, text] of Object.entries(refused)) {
    it(`refuses ${title}`, () => {
      assert.isUndefined(href(text))
      assert.isUndefined(href(text, true))
    })
  }

  const faults: ReadonlyArray<readonly [TargetFormFault, ReadonlyArray<string>]> = [
    ["too_long", [ofLength(WEBHOOK_TARGET_MAX_CHARACTERS + 1), `${PREFIX}${"ü".repeat(1000)}`]],
    [
      "forbidden_character",
      [" https://hooks.example/", "https://hooks.example/a b", "https://hooks.example\\"]
    ],
    [
      "not_a_url",
      ["", "hooks.example/x", "//hooks.example", "https:hooks.example", "https:///hooks.example"]
    ],
    ["not_https", ["http://hooks.example/", "http://10.0.0.1/", "ftp://hooks.example/", "localhost:3000/x"]],
    ["user_info", ["https://user@hooks.example/", "https://a:b@10.0.0.1/", "https://@hooks.example/"]],
    ["fragment", ["https://hooks.example/x#top", "https://hooks.example/#"]],
    ["port", ["https://hooks.example:80/", "https://hooks.example:0/", "https://hooks.example:65536/"]],
    [
      "ip_literal",
      ["https://93.184.215.14/", "https://1572395022/", "https://0x7f.1/", "https://①②⑦.0.0.①/"]
    ],
    ["ip_literal", ["https://[::1]/", "https://[fe80::1%25eth0]/", "https://[::ffff:127.0.0.1]/"]],
    ["single_label", ["https://hooks/", "https://localhost:8443/"]],
    [
      "host",
      ["https://hooks.example./", "https://bücher.example/", "https://hooks.123/", "https://.a.example/"]
    ]
  ]
  for (const [fault, texts] of faults) {
    it(`says ${fault} of ${texts[0]?.slice(0, 40)}`, () => {
      for (const text of texts) {
        assert.deepStrictEqual(readTarget(text, { loopbackAllowed: false }), Result.fail(fault), text)
      }
    })
  }

  const loopback = [
    "http://localhost:8080/x",
    "https://localhost:8443/x",
    "https://localhost/x",
    "http://127.0.0.1:8080/x",
    "http://127.255.255.254:8080/x",
    "http://[::1]:8080/x",
    "http://localhost:443/x"
  ]
  for (const text of loopback) {
    it(`accepts ${text} only where loopback is allowed`, () => {
      assert.isUndefined(href(text))
      assert.strictEqual(href(text, true), text)
    })
  }

  const label = fc.stringMatching(/^[a-z0-9]{1,12}$/)
  const name = fc.tuple(fc.array(label, { minLength: 1, maxLength: 4 }), fc.stringMatching(/^[a-z]{2,8}$/))

  it("accepts every plain name, path and port as it is written", () => {
    fc.assert(
      fc.property(name, fc.integer({ min: 1024, max: 65_535 }), fc.webPath(), ([labels, top], port, path) => {
        const host = [...labels, top].join(".")
        const url = parseTarget(`https://${host}:${port}${path}`, { loopbackAllowed: false })
        assert.strictEqual(url?.host, `${host}:${port}`)
      })
    )
  })

  /** Spellings that some parser of addresses takes for this IPv4 address. */
  const spellings = (address: number): ReadonlyArray<string> => {
    const bytes = [address >>> 24, (address >>> 16) & 255, (address >>> 8) & 255, address & 255]
    const [a = 0, b = 0, c = 0, d = 0] = bytes
    const groups = [(a << 8) | b, (c << 8) | d].map((group) => group.toString(16))
    const dotted = bytes.join(".")
    const fullWidth = dotted.replace(/\d/gu, (digit) => String.fromCodePoint(0xff10 + Number(digit)))
    return [
      dotted,
      `${dotted}.`,
      String(address),
      `0x${address.toString(16)}`,
      `0${address.toString(8)}`,
      bytes.map((byte) => `0${byte.toString(8)}`).join("."),
      bytes.map((byte) => `0x${byte.toString(16)}`).join("."),
      `${a}.${address & 0xffffff}`,
      `${a}.${b}.${address & 0xffff}`,
      fullWidth,
      dotted.replaceAll(".", "。"),
      encodeURIComponent(fullWidth),
      dotted.replace(/\d/gu, (digit) => `%3${digit}`),
      `[::ffff:${dotted}]`,
      `[::${dotted}]`,
      `[64:ff9b::${dotted}]`,
      `[64:ff9b:1::${dotted}]`,
      `[2002:${groups.join(":")}::]`,
      `[::ffff:0:${dotted}]`
    ]
  }

  it("refuses every spelling of every address, but canonical loopback where that is allowed", () => {
    fc.assert(
      fc.property(
        fc.nat(0xffffffff),
        fc.boolean(),
        fc.constantFrom("http", "https"),
        (address, allowed, scheme) => {
          const [dotted, ...others] = spellings(address)
          for (const host of others) {
            assert.isUndefined(href(`${scheme}://${host}:8443/`, allowed), host)
          }
          const isAllowed = allowed && address >>> 24 === 127
          assert.strictEqual(href(`${scheme}://${dotted}:8443/`, allowed) !== undefined, isAllowed)
        }
      )
    )
  })

  it("answers what it accepts the same way again, to the same host", () => {
    const part = fc.oneof(
      fc.constantFrom(
        "https://",
        "http://",
        "@",
        ":",
        "/",
        "\\",
        ".",
        "#",
        "?",
        "[",
        "]",
        "%",
        "%2e",
        "localhost"
      ),
      fc.constantFrom("127.0.0.1", "0x7f", "::1", "hooks.example", "。", "１", "\t", "8443"),
      fc.string({ unit: "binary", maxLength: 3 })
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.boolean(), (parts, loopbackAllowed) => {
        const url = parseTarget(["https://", ...parts].join(""), { loopbackAllowed })
        if (url === undefined) return
        assert.strictEqual(parseTarget(url.href, { loopbackAllowed })?.href, url.href)
        assert.strictEqual(url.username + url.password + url.hash, "")
        if (!loopbackAllowed) assert.match(url.hostname, /^[a-z0-9._-]+\.[a-z][a-z0-9-]*$/)
      }),
      { numRuns: 2000 }
    )
  })
})
