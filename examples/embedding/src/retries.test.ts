import { assert, describe, it } from "@effect/vitest"
import { createService, newOrganizationId, SvcError } from "svc"
import { memory } from "svc/memory"
import { postgres } from "svc/postgres"
import { withRetries } from "./retries.ts"

const options = {
  environment: "test",
  baseUrl: "http://localhost:3000/mandates",
  approvalUrl: "http://localhost:3000/approvals"
} as const

describe("withRetries", () => {
  it("makes a call again that the store could not answer, and gives up after five times", async () => {
    let queries = 0
    const pool = {
      query: async () => {
        queries += 1
        throw new Error("the database is away")
      }
    }
    const service = createService({
      ...options,
      store: postgres({ pool }),
      masterKey: new Uint8Array(32),
      logger: () => undefined
    })
    const shop = service.forOrganization(newOrganizationId())
    let calls = 0
    const failed = await withRetries(() => {
      calls += 1
      return shop.mandates.list()
    }).catch((error: unknown) => error)
    assert.instanceOf(failed, SvcError)
    assert.deepStrictEqual([(failed as SvcError).code, calls], ["store_unavailable", 5])
    assert.isAtLeast(queries, calls)
    await service.close()
  })

  it("gives a refusal back at once", async () => {
    const service = createService({ ...options, store: memory() })
    let calls = 0
    const refused = await withRetries(() => {
      calls += 1
      return service.forOrganization(newOrganizationId()).mandates.list()
    }).catch((error: unknown) => error)
    assert.deepStrictEqual([(refused as SvcError).code, calls], ["not_found", 1])
    await service.close()
  })
})
