import { assert, describe, it } from "@effect/vitest"
import { createService, newOrganizationId, SvcError } from "svc"
import { memory } from "svc/memory"
import { postgres } from "svc/postgres"
import { revokePatiently } from "./patience.ts"

const options = {
  environment: "test",
  baseUrl: "http://localhost:3000/mandates",
  approvalUrl: "http://localhost:3000/approvals"
} as const

describe("revokePatiently", () => {
  it("tries again while the store is away, and then says so with the key to go on under", async () => {
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
    const failed = await revokePatiently(service.forOrganization(newOrganizationId()), "mnd_1").catch(
      (error: unknown) => error
    )
    assert.instanceOf(failed, SvcError)
    const { code, idempotencyKey, retryable } = failed as SvcError
    assert.deepStrictEqual([code, retryable, idempotencyKey], ["store_unavailable", true, "close-mnd_1"])
    assert.isAtLeast(queries, 3)
    await service.close()
  })

  it("gives a refusal at once", async () => {
    const id = newOrganizationId()
    const service = createService({
      ...options,
      store: memory(),
      organizations: [{ id, name: "Shop", returnOrigins: [] }]
    })
    const refused = await revokePatiently(service.forOrganization(id), "mnd_1").catch(
      (error: unknown) => error
    )
    assert.strictEqual((refused as SvcError).code, "not_found")
    await service.close()
  })
})
