import { assert, describe, it } from "@effect/vitest"
import { Context } from "effect"
import { type HttpApiEndpoint, type HttpApiGroup, OpenApi } from "effect/http-api"
import { KEYED_ROUTES } from "../request/KeyedRoute.ts"
import { requestFingerprint } from "../request/RequestFingerprint.ts"
import { Api } from "./Api.ts"
import { RouteRule } from "./RouteRule.ts"

const groups = Object.values(Api.groups) as unknown as ReadonlyArray<HttpApiGroup.Top>
const keyed = groups
  .flatMap((group) => Object.values(group.endpoints) as ReadonlyArray<HttpApiEndpoint.Top>)
  .filter((endpoint) => Context.get(endpoint.annotations, RouteRule).idempotencyKey !== "none")

describe("the routes that take an idempotency key (part 3)", () => {
  it("are all listed under their operation ids", () => {
    const declared = keyed.map((endpoint) => [
      Context.getOrElse(endpoint.annotations, OpenApi.Identifier, () => ""),
      `${endpoint.method} ${endpoint.path.replace(/:(\w+)/g, "{$1}")}`
    ])
    assert.deepStrictEqual(Object.fromEntries(declared), KEYED_ROUTES)
    assert.strictEqual(declared.length, Object.keys(KEYED_ROUTES).length)
  })

  it("keep the texts that the fingerprints of stored keys were made from", () => {
    const digest = requestFingerprint({ operation: "", path: {}, body: KEYED_ROUTES })
    assert.strictEqual(digest, "dTDM7Bbl_-M_8CEKCW4lmzOsirzsPdZSSwtAMl5H3zs")
  })
})
