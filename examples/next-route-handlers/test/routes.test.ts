/** Calls the route handlers as Next does: each with a `Request`. */
import assert from "node:assert/strict"
import { after, describe, it } from "node:test"
import { approveOnPage } from "@svc/testkit/ApproveOnPage"
import * as allowances from "../src/app/allowances/route.ts"
import * as api from "../src/app/api/[[...path]]/route.ts"
import * as approvals from "../src/app/approvals/[[...path]]/route.ts"
import * as login from "../src/app/login/route.ts"
import * as purchases from "../src/app/purchases/route.ts"
import * as page from "../src/app/route.ts"
import { ORIGIN, SHOP, service } from "../src/service.ts"

const post = async (
  { POST }: { POST: (request: Request) => Promise<Response> },
  path: string,
  body: object,
  headers: Record<string, string> = {}
) => {
  const init = { method: "POST", headers: { "content-type": "application/json", ...headers } }
  const response = await POST(new Request(ORIGIN + path, { ...init, body: JSON.stringify(body) }))
  return { status: response.status, body: await response.json() }
}

/** The handler that Next chooses for a request of the approval page. */
const onApprovals = (request: Request): Promise<Response> =>
  request.method === "POST" ? approvals.POST(request) : approvals.GET(request)

after(() => service.close())

describe("the routes", () => {
  it("serve the shop's own page beside the service", async () => {
    assert.equal(await page.GET().text(), "The shop.\n")
    assert.equal((await api.GET(new Request(`${ORIGIN}/api/healthz`))).status, 200)
    assert.equal((await api.HEAD(new Request(`${ORIGIN}/api/docs`, { method: "HEAD" }))).status, 200)
    assert.equal((await api.GET(new Request(`${ORIGIN}/api/v1/mandates`))).status, 401)
    assert.equal((await approvals.GET(new Request(`${ORIGIN}/approvals`))).status, 200)
  })

  it("take an API key, and bodies", async () => {
    const { key } = await service.createApiKey(SHOP)
    const headers = { authorization: `Bearer ${key}`, "idempotency-key": "mandate-1" }
    const mandate = {
      kind: "SINGLE",
      subject_reference: "bob",
      policy: { currency: "EUR", max_amount: 1, allowed_actions: ["order.place"] },
      window: { ends_at: new Date(Date.now() + 86_400_000).toISOString() }
    }
    const { body, status } = await post(api, "/api/v1/mandates", mandate, headers)
    assert.deepEqual([status, body.state ?? body.detail], [201, "PENDING_APPROVAL"])
  })

  it("buy what the customer has approved, and nothing beyond it", async () => {
    assert.equal((await post(allowances, "/allowances", { max_amount: 5000, session: "none" })).status, 401)
    const { session } = (await post(login, "/login", { customer: "alice" })).body
    const { approval_url, mandate } = (await post(allowances, "/allowances", { max_amount: 5000, session }))
      .body
    const buy = async (order: string, amount: number) => {
      const { body, status } = await post(purchases, "/purchases", { mandate, order, amount })
      return [status, body.state, ...body.reasons.map(({ code }: { code: string }) => code)]
    }
    assert.deepEqual(await buy("order-0", 4200), [403, "DENIED", "MANDATE_NOT_APPROVED"])
    await approveOnPage(approval_url, onApprovals)
    assert.deepEqual(await buy("order-1", 5001), [403, "DENIED", "AMOUNT_ABOVE_MAXIMUM"])
    assert.deepEqual(await buy("order-2", 4200), [201, "COMMITTED"])
  })

  it("say what is wrong with a purchase", async () => {
    const wrong = { mandate: "mnd_00000000000000000000000000", order: "order-4", amount: 1 }
    const { body, status } = await post(purchases, "/purchases", wrong)
    assert.deepEqual([status, body.code], [404, "not_found"])
  })
})
