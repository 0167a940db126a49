import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { approvalCookieHeader, approvalCookieName, readApprovalCookie } from "./ApprovalCookie.ts"

const SECURE = "https://approve.example"
const LOCAL = "http://localhost:8081"
const VALUE = "A".repeat(43)
const NAME = approvalCookieName("aps_1", SECURE)

const read = (header: string | undefined) => {
  const cookie = readApprovalCookie(header, NAME)
  return cookie === undefined ? undefined : Redacted.value(cookie)
}

describe("approvalCookieHeader", () => {
  const bind = { sessionId: "aps_1", cookie: Redacted.make(VALUE), maxAgeSeconds: 301 }

  it("binds to the host over HTTPS", () => {
    assert.strictEqual(
      approvalCookieHeader(bind, SECURE),
      `__Host-svc_aps_1=${VALUE}; Path=/; Max-Age=301; HttpOnly; Secure; SameSite=Strict`
    )
  })

  it("lacks the prefix and Secure on the development server's origin", () => {
    assert.strictEqual(
      approvalCookieHeader(bind, LOCAL),
      `svc_aps_1=${VALUE}; Path=/; Max-Age=301; HttpOnly; SameSite=Strict`
    )
  })
})

describe("readApprovalCookie", () => {
  it("finds the value among others", () => {
    assert.strictEqual(read(`a=b; ${NAME}=${VALUE};c=d`), VALUE)
  })

  it.each([
    ["no header", undefined],
    ["an empty header", ""],
    ["another name", `${NAME}x=${VALUE}`],
    ["the name in another case", `${NAME.toLowerCase()}=${VALUE}`],
    ["the name at the end of another", `x${NAME}=${VALUE}`],
    ["the name without the prefix", `svc_aps_1=${VALUE}`],
    ["a name that comes twice", `${NAME}=${VALUE}; ${NAME}=${VALUE}`],
    ["a name that comes twice, once malformed", `${NAME}=${VALUE}; ${NAME}=x`],
    ["a quoted value", `${NAME}="${VALUE}"`],
    ["a short value", `${NAME}=${VALUE.slice(1)}`],
    ["a long value", `${NAME}=${VALUE}A`],
    ["no value", `${NAME}`]
  ])("takes nothing from %s", (_, header) => {
    assert.isUndefined(read(header))
  })
})
