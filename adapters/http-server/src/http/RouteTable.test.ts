import { assert, describe, it } from "@effect/vitest"
import { makeRouteTable } from "./RouteTable.ts"

const table = makeRouteTable([
  { method: "GET", path: "/v1/mandates" },
  { method: "GET", path: "/v1/mandates/:mandate_id" },
  { method: "PUT", path: "/v1/mandates/:mandate_id/revocation" },
  { method: "GET", path: "/.well-known/jwks.json" }
])
const open = makeRouteTable([{ method: "GET", path: "/back/*" }])

describe("RouteTable (part 1)", () => {
  for (const path of [
    "/v1/mandates?limit=1",
    "/v1/mandates/%6dnd_1",
    "/v1/mandates/a%2Fb",
    "/v1/mandates/a%2E%2Eb",
    "/v1/mandates/...",
    "/v1/mandates/%2e%2E",
    "/v1/mandates/%2e",
    "/.well-known/jwks.json"
  ]) {
    it(`finds ${path}`, () => assert.strictEqual(table.find("GET", path)._tag, "Route"))
  }

  for (const path of ["/back/a", "/back/a/b?c=d", "/back/%61"]) {
    it(`finds ${path} by a wildcard`, () => assert.strictEqual(open.find("GET", path)._tag, "Route"))
  }

  it("does not find /b%61ck/a, an escaped spelling", () =>
    assert.strictEqual(open.find("GET", "/b%61ck/a")._tag, "NotFound"))

  for (const path of [
    "/%76%31/mandates",
    "/v1/m%61ndates",
    "/v1/mandates%2Fmnd_1",
    "/v1%2Fmandates",
    "/v1/mandates/mnd_1/revoc%61tion",
    "/%2Ewell-known/jwks.json",
    "/.well-known/jwks%2Ejson",
    "/V1/mandates",
    "/v1/mandates/",
    "//v1/mandates",
    "/v1//mandates",
    "/./v1/mandates",
    "/v1/../v1/mandates",
    "/v1/mandates/.",
    "/v1/mandates/..",
    "/v1/mandates/../revocation",
    "/v1/mandates;x",
    "/v1/mandates%3Bx",
    "/v1/mandates%20",
    "/v1/mandates%00",
    "/v1/mandates%3Flimit=1",
    "/v1\\mandates",
    "v1/mandates",
    "*",
    ""
  ]) {
    it(`does not find ${path}`, () => {
      assert.strictEqual(table.find("GET", path)._tag, "NotFound")
      assert.strictEqual(table.find("PATCH", path)._tag, "NotFound")
    })
  }
})
