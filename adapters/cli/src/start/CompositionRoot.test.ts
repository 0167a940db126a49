import { assert, describe, it } from "@effect/vitest"
import { Organizations } from "@svc/domain/ports/Organizations"
import { ApiKeyCache } from "@svc/domain/programs/ApiKeyCache"
import { Context, Effect } from "effect"
import { startService } from "../../test/ServiceUnderTest.ts"

const REQUEST = { path: "/v1/mandates" }

describe("portsLayer", () => {
  it.effect("gives each server a cache of API keys of its own, whose keys are nothing to another", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* startService(), yield* startService()]
      const [ofOne, ofOther] = [one, other].map(({ services }) => Context.get(services, ApiKeyCache))
      assert.notStrictEqual(ofOne, ofOther)
      const { key } = one.tenant
      const statuses = []
      for (const { tenant } of [one, other, one])
        statuses.push((yield* tenant.send({ ...REQUEST, key })).status)
      assert.deepStrictEqual(statuses, [200, 401, 200])
    })
  )

  it.effect("has a revocation by the server's own process act at once", () =>
    Effect.gen(function* () {
      const { services, tenant } = yield* startService()
      assert.strictEqual((yield* tenant.send(REQUEST)).status, 200)
      const organizations = Context.get(services, Organizations)
      const { apiKeys } = yield* organizations.listApiKeys(tenant.organization.id)
      yield* organizations.putApiKey({ ...apiKeys[0]!, revokedAt: "2026-01-02T00:00:00Z" })
      assert.strictEqual((yield* tenant.send(REQUEST)).status, 401)
    })
  )
})
