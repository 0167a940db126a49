import { assert, describe, it } from "@effect/vitest"
import { loggedRequestId, loggedUserAgent } from "./LoggedHeader.ts"

const TOKEN = "A1b2-_".repeat(8).slice(0, 43)

describe("loggedUserAgent", () => {
  it("keeps printable ASCII", () => {
    assert.strictEqual(loggedUserAgent('curl/8.5.0 (x; "y")'), 'curl/8.5.0 (x; "y")')
    assert.isUndefined(loggedUserAgent(undefined))
  })

  it("escapes other characters", () => {
    assert.strictEqual(loggedUserAgent("a\tb\u001b[31m\u009b\u00e9"), "a\\u0009b\\u001b[31m\\u009b\\u00e9")
  })

  it("truncates", () => assert.strictEqual(loggedUserAgent("a b ".repeat(1000))?.length, 256))

  it("redacts possible secrets, also where it truncates", () => {
    assert.strictEqual(loggedUserAgent(`x ${TOKEN} y`), "x [redacted] y")
    assert.strictEqual(loggedUserAgent(`svc_test_${TOKEN}`), "[redacted]")
    assert.notInclude(loggedUserAgent(`${"a ".repeat(110)}${TOKEN}`), TOKEN.slice(0, 8))
  })
})

describe("loggedRequestId", () => {
  for (const id of [
    "01890a5d-ac96-774b-bcce-b302099a8057",
    "Root=1-67891233-abcdef012345678912345678",
    "a"
  ]) {
    it(`keeps ${id}`, () => assert.strictEqual(loggedRequestId(id), id))
  }

  for (const id of [undefined, "", "a b", "a\u0000", "\u00e9", "a".repeat(129)]) {
    it(`drops ${JSON.stringify(id)?.slice(0, 20)}`, () => assert.isUndefined(loggedRequestId(id)))
  }

  it("redacts possible secrets", () => assert.strictEqual(loggedRequestId(TOKEN), "[redacted]"))
})
