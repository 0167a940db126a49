import { assert, describe, it } from "@effect/vitest"
import { isRegistrableReturnOrigin, parseReturnUrl, redirectTo } from "./ReturnUrl.ts"

const settings = {
  returnOrigins: ["https://shop.example", "https://shop.example:8443", "http://localhost:3000"],
  localhostAllowed: false
}
const href = (text: string, localhostAllowed = false) =>
  parseReturnUrl(text, { ...settings, localhostAllowed })?.href

describe("return_url", () => {
  const accepted: ReadonlyArray<readonly [string, string]> = [
    ["https://shop.example/return?a=1#x", "https://shop.example/return?a=1#x"],
    ["https://shop.example", "https://shop.example/"],
    ["https://shop.example:443/r", "https://shop.example/r"],
    ["HTTPS://SHOP.Example/R", "https://shop.example/R"],
    ["https://shop.example:8443/r", "https://shop.example:8443/r"],
    ["https://shop.example/?u=a@b", "https://shop.example/?u=a@b"],
    ["https://shop.example/a//b/../c", "https://shop.example/a//c"],
    ["https://shop.example/ü", "https://shop.example/%C3%BC"]
  ]
  for (const [text, expected] of accepted) it(text, () => assert.strictEqual(href(text), expected))

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
    "a full-width host": "https://ｓhop.example/r",
    "an ideographic full stop": "https://shop。example/r",
    javascript: "javascript:alert(1)//https://shop.example",
    data: "data:text/html,x",
    nothing: "",
    "a path": "/return",
    "a protocol-relative address": "//shop.example/r",
    "a bad port": "https://shop.example:99999/r"
  }
  for (const [title, text] of Object.entries(refused)) it(title, () => assert.isUndefined(href(text)))

  it("http://localhost only where the deployment allows it, and still exactly as registered", () => {
    assert.isUndefined(href("http://localhost:3000/r"))
    assert.strictEqual(href("http://localhost:3000/r", true), "http://localhost:3000/r")
    assert.isUndefined(href("http://localhost:3001/r", true))
    assert.isUndefined(href("http://127.0.0.1:3000/r", true))
    assert.isUndefined(href("http://shop.example/r", true))
  })
})

describe("origins that may be registered", () => {
  const rows: ReadonlyArray<readonly [string, boolean, boolean]> = [
    ["https://shop.example", true, true],
    ["https://shop.example:8443", true, true],
    ["https://shop.example:443", false, false],
    ["https://shop.example/", false, false],
    ["https://Shop.example", false, false],
    ["http://shop.example", false, false],
    ["http://localhost:3000", false, true],
    ["null", false, false],
    ["", false, false]
  ]
  for (const [origin, live, test] of rows) {
    it(JSON.stringify(origin), () => {
      assert.strictEqual(isRegistrableReturnOrigin(origin, false), live)
      assert.strictEqual(isRegistrableReturnOrigin(origin, true), test)
    })
  }
})

describe("redirect_to", () => {
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
    ["https://shop.example/r?toString=1", `https://shop.example/r?toString=1&${added}`]
  ]
  for (const [url, expected] of rows) it(url, () => assert.strictEqual(to(url), expected))
})
