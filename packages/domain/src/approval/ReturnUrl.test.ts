import { assert, describe, it } from "@effect/vitest"
import { allowsLocalhostReturn, isRegistrableReturnOrigin, parseReturnUrl, redirectTo } from "./ReturnUrl.ts"

const settings = {
  returnOrigins: [
    "https://shop.example",
    "https://shop.example:8443",
    "http://localhost:3000",
    "https://[2001:db8::1]:8443",
    "https://192.0.2.1",
    "https://xn--bcher-kva.example"
  ],
  localhostAllowed: false
}
const href = (text: string, localhostAllowed = false) =>
  parseReturnUrl(text, { ...settings, localhostAllowed })?.href

describe("a return_url (part 6)", () => {
  const accepted: ReadonlyArray<readonly [string, string]> = [
    ["https://shop.example/return?a=1#x", "https://shop.example/return?a=1#x"],
    ["https://shop.example", "https://shop.example/"],
    ["https://shop.example:443/r", "https://shop.example/r"],
    ["HTTPS://SHOP.Example/R", "https://shop.example/R"],
    ["https://shop.example:8443/r", "https://shop.example:8443/r"],
    ["https://shop.example/?u=a@b", "https://shop.example/?u=a@b"],
    ["https://shop.example/a//b/../c", "https://shop.example/a//c"],
    ["https://shop.example/ü", "https://shop.example/%C3%BC"],
    ["https://shop.example:/r", "https://shop.example/r"],
    ["https://shop.example:00443/r", "https://shop.example/r"],
    ["https://%73hop.example/r", "https://shop.example/r"],
    ["https://shop.example?a=1", "https://shop.example/?a=1"],
    ["https://shop.example#top", "https://shop.example/#top"],
    ["https://shop.example/#https://a@evil.example", "https://shop.example/#https://a@evil.example"],
    ["https://[2001:db8::1]:8443/r", "https://[2001:db8::1]:8443/r"],
    ["https://[2001:DB8:0:0:0:0:0:1]:8443/r", "https://[2001:db8::1]:8443/r"],
    ["https://192.0.2.1/r", "https://192.0.2.1/r"],
    ["https://xn--bcher-kva.example/r", "https://xn--bcher-kva.example/r"]
  ]
  for (const [text, expected] of accepted) {
    it(`is accepted: ${text}`, () => assert.strictEqual(href(text), expected))
  }

  const refused: Readonly<Record<string, string>> = {
    "another scheme": "http://shop.example/r",
    "another port": "https://shop.example:8444/r",
    "another host": "https://shop.example.evil/r",
    "a suffix of the host": "https://evilshop.example/r",
    "user info": "https://shop.example@evil.example/r",
    "user info before the right host": "https://evil@shop.example/r",
    "an empty user": "https://@shop.example/r",
    "a password": "https://a:b@shop.example/r",
    "a backslash": "https://shop.example\\@evil.example/",
    "a backslash for a slash": "https:/\\shop.example/r",
    "no slashes": "https:shop.example/r",
    "one slash": "https:/shop.example/r",
    "three slashes": "https:///shop.example/r",
    "a trailing dot": "https://shop.example./r",
    "a trailing dot, escaped": "https://shop.example%2e/r",
    "a trailing dot and the port": "https://shop.example.:443/r",
    "a tab": "https://shop.exa\tmple/r",
    "a new line in the path": "https://shop.example/a\nb",
    "a leading space": " https://shop.example/r",
    "a space in the path": "https://shop.example/a b",
    DEL: "https://shop.example/\u007f",
    "U+0000": "https://shop.example/\u0000",
    "a carriage return at the end": "https://shop.example/\r",
    "a backslash in the query": "https://shop.example/?a=\\",
    "a backslash in the fragment": "https://shop.example/#\\",
    "a backslash before the path": "https://shop.example\\r",
    "an escaped at sign": "https://shop.example%40evil.example/r",
    "an escaped slash in the host": "https://shop.example%2f.evil.example/r",
    "an escaped backslash in the host": "https://shop.example%5c.evil.example/r",
    "an escaped tab in the host": "https://shop%09.example/r",
    "user info and the right port": "https://shop.example:443@evil.example/r",
    "two ports": "https://shop.example:443:443/r",
    "a port that is none": "https://shop.example:x/r",
    "a subdomain": "https://www.shop.example/r",
    "the parent domain": "https://example/r",
    "IPv6 on another port": "https://[2001:db8::1]/r",
    "another IPv6 host": "https://[2001:db8::2]:8443/r",
    "IPv6 without brackets": "https://2001:db8::1:8443/r",
    "IPv6 with a zone": "https://[2001:db8::1%25eth0]:8443/r",
    "IPv6 with user info": "https://a@[2001:db8::1]:8443/r",
    "a name in Unicode whose ASCII form is registered": "https://bücher.example/r",
    "the same, escaped": "https://b%C3%BCcher.example/r",
    "a full-width letter, escaped": "https://%EF%BD%93hop.example/r",
    "an ideographic full stop, escaped": "https://shop%E3%80%82example/r",
    "a soft hyphen, escaped": "https://sh%c2%adop.example/r",
    "javascript with the host": "javascript://shop.example/%0aalert(1)",
    "a blob": "blob:https://shop.example/1",
    wss: "wss://shop.example/r",
    "https with a letter before": "xhttps://shop.example/r",
    "a full-width host": "https://ｓhop.example/r",
    "an ideographic full stop": "https://shop。example/r",
    javascript: "javascript:alert(1)//https://shop.example",
    data: "data:text/html,x",
    nothing: "",
    "a path": "/return",
    "a protocol-relative address": "//shop.example/r",
    "a bad port": "https://shop.example:99999/r"
  }
  for (const [title, text] of Object.entries(refused)) {
    it(`is refused with ${title}`, () => assert.isUndefined(href(text)))
  }

  it("may be http://localhost only where the deployment allows it, exactly as registered", () => {
    assert.isUndefined(href("http://localhost:3000/r"))
    assert.strictEqual(href("http://localhost:3000/r", true), "http://localhost:3000/r")
    assert.isUndefined(href("http://localhost:3001/r", true))
    assert.isUndefined(href("http://127.0.0.1:3000/r", true))
    assert.isUndefined(href("http://shop.example/r", true))
  })
})

it("an origin on this machine is a matter of the test environment (part 6)", () => {
  assert.deepStrictEqual((["test", "live"] as const).map(allowsLocalhostReturn), [true, false])
})

describe("an origin for return addresses (part 6)", () => {
  const rows: ReadonlyArray<readonly [string, boolean, boolean]> = [
    ["https://shop.example", true, true],
    ["https://shop.example:8443", true, true],
    ["https://shop.example:443", false, false],
    ["https://shop.example/", false, false],
    ["https://Shop.example", false, false],
    ["http://shop.example", false, false],
    ["http://localhost:3000", false, true],
    ["ftp://localhost", false, false],
    ["null", false, false],
    ["", false, false]
  ]
  for (const [origin, live, test] of rows) {
    it(`is accepted or refused as required: ${JSON.stringify(origin)}`, () => {
      assert.strictEqual(isRegistrableReturnOrigin(origin, false), live)
      assert.strictEqual(isRegistrableReturnOrigin(origin, true), test)
    })
  }
})

describe("the address that a browser returns to (part 6)", () => {
  const to = (url: string) => redirectTo(url, { return_state: "state & more", approval_session_id: "aps_1" })
  const added = "return_state=state+%26+more&approval_session_id=aps_1"

  const rows: ReadonlyArray<readonly [string, string]> = [
    ["https://shop.example/r", `https://shop.example/r?${added}`],
    ["https://shop.example/r?a=1&b=%20#top", `https://shop.example/r?a=1&b=%20&${added}#top`],
    ["https://shop.example/r?return_state=evil&a=1", `https://shop.example/r?a=1&${added}`],
    [
      "https://shop.example/r?a&return%5Fstate=x&approval_session_id=y&b=",
      `https://shop.example/r?a&b=&${added}`
    ],
    ["https://shop.example/r??return_state=mine", `https://shop.example/r??return_state=mine&${added}`],
    ["https://shop.example/r?Return_State=kept", `https://shop.example/r?Return_State=kept&${added}`],
    ["https://shop.example/r?a=1&a=2", `https://shop.example/r?a=1&a=2&${added}`],
    ["https://shop.example/r?%72eturn_state=x&a=1", `https://shop.example/r?a=1&${added}`],
    ["https://shop.example/r?return_state&a=1", `https://shop.example/r?a=1&${added}`],
    ["https://shop.example/r?return_state=a&return_state=b", `https://shop.example/r?${added}`],
    [
      "https://shop.example/r?%61%70%70%72%6F%76%61%6c_session%5fid=aps_2&x=%26return_state%3D1",
      `https://shop.example/r?x=%26return_state%3D1&${added}`
    ],
    ["https://shop.example/r?return%255Fstate=kept", `https://shop.example/r?return%255Fstate=kept&${added}`],
    ["https://shop.example/r?return+state=kept&%ZZ", `https://shop.example/r?return+state=kept&%ZZ&${added}`],
    ["https://shop.example/r?a;return_state=kept", `https://shop.example/r?a;return_state=kept&${added}`],
    ["https://shop.example/r#?return_state=kept", `https://shop.example/r?${added}#?return_state=kept`],
    ["https://shop.example/r#a?b#c", `https://shop.example/r?${added}#a?b#c`],
    ["https://shop.example/r?toString=1", `https://shop.example/r?toString=1&${added}`]
  ]
  for (const [url, expected] of rows) it(url, () => assert.strictEqual(to(url), expected))
})
