import { assert, describe, it } from "@effect/vitest"
import { createService, newOrganizationId, type SvcError } from "svc"
import { memory } from "svc/memory"
import { bySessions, type Session } from "./tenants.ts"

const [north, south] = [newOrganizationId(), newOrganizationId()]

const SESSIONS = new Map<string, Session>([
  ["anna", { user: "user_anna", organization: north, isAdmin: true }],
  ["ben", { user: "user_ben", organization: south, isAdmin: false }]
])

const sessions = {
  find: async (token: string) => {
    if (token === "broken") throw new Error("the session store is away")
    return SESSIONS.get(token)
  }
}

const makeService = () =>
  createService({
    environment: "test",
    baseUrl: "http://localhost:3000/mandates",
    approvalUrl: "http://localhost:3000/approvals",
    store: memory(),
    organizations: [north, south].map((id) => ({
      id,
      name: "Shop",
      returnOrigins: ["http://localhost:3000"]
    })),
    logger: () => undefined,
    ...bySessions(sessions)
  })

const newMandate = (subject: string) => ({
  kind: "SINGLE" as const,
  subject_reference: subject,
  policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
  window: { ends_at: new Date(Date.now() + 86_400_000).toISOString() }
})

describe("a service that knows its host's sessions", () => {
  it("answers each tenant's users for their own organization, with the scopes that they have", async () => {
    const service = makeService()
    const { id } = await service.forOrganization(north).mandates.create(newMandate("user_anna"))
    const ask = (token: string, path: string, init: RequestInit = {}) =>
      service.fetch(
        new Request(`http://localhost:3000/mandates${path}`, {
          ...init,
          headers: { authorization: `Bearer ${token}`, ...init.headers }
        })
      )
    const read = async (token: string) => (await ask(token, `/v1/mandates/${id}`)).status
    assert.deepStrictEqual(
      await Promise.all(["anna", "ben", "nobody", "broken"].map(read)),
      [200, 404, 401, 500]
    )
    const write = await ask("ben", "/v1/mandates", { method: "POST", body: "{}" })
    assert.strictEqual((await write.json()).code, "scope_insufficient")
    await service.close()
  })

  it("opens an approval for the user whom the mandate names, as often as the user is signed in", async () => {
    const service = makeService()
    const { mandates } = service.forOrganization(north)
    const { id } = await mandates.create(newMandate("user_anna"))
    const open = (session: string) =>
      mandates.openApproval(id, {
        identity_assertion: session,
        return_url: "http://localhost:3000/back",
        return_state: crypto.randomUUID()
      })
    const codeOf = (opening: Promise<unknown>) =>
      opening.then(
        () => "opened",
        (error: unknown) => (error as SvcError).code
      )
    assert.deepStrictEqual([await codeOf(open("anna")), await codeOf(open("anna"))], ["opened", "opened"])
    assert.strictEqual(await codeOf(open("ben")), "identity_assertion_invalid")
    assert.strictEqual(await codeOf(open("broken")), "store_unavailable")
    const other = await mandates.create(newMandate("user_else"))
    const mismatch = mandates.openApproval(other.id, {
      identity_assertion: "anna",
      return_url: "http://localhost:3000/back",
      return_state: crypto.randomUUID()
    })
    assert.strictEqual(await codeOf(mismatch), "subject_mismatch")
    await service.close()
  })
})
