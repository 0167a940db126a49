import { assert, describe, it } from "@effect/vitest"
import { makeRouteTable } from "./RouteTable.ts"

const table = makeRouteTable([
  { method: "GET", path: "/v1/mandates" },
  { method: "GET", path: "/v1/mandates/:mandate_id" },
  { method: "PUT", path: "/v1/mandates/:mandate_id/revocation" },
  { method: "GET", path: "/.well-known/jwks.json" }
])
const open = makeRouteTable([{ method: "GET", path: "/back/*" }])

describe("a path", () => {
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
    it(`${path} is a route's`, () => assert.strictEqual(table.find("GET", path)._tag, "Route"))
  }

  for (const path of ["/back/a", "/back/a/b?c=d", "/back/%61"]) {
    it(`${path} is that of a route for whatever follows`, () =>
      assert.strictEqual(open.find("GET", path)._tag, "Route"))
  }

  it("/b%61ck/a is not", () => assert.strictEqual(open.find("GET", "/b%61ck/a")._tag, "Nowhere"))

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
    it(`${path} is nobody's`, () => {
      assert.strictEqual(table.find("GET", path)._tag, "Nowhere")
      assert.strictEqual(table.find("PATCH", path)._tag, "Nowhere")
    })
  }
})
