/** What a host does with the front package, without Effect: a mandate is created, and the handler answers beside it. */
import { createService, newOrganizationId } from "svc"
import { memory } from "svc/memory"

/** Nothing listens on it: the requests stay in the process. */
const ORIGIN = "http://localhost:8080"

/** How long the mandate may be used, in milliseconds. */
const DAY_MS = 86_400_000

const organization = newOrganizationId()
const service = createService({
  environment: "test",
  baseUrl: `${ORIGIN}/mandates`,
  approvalUrl: `${ORIGIN}/approvals`,
  store: memory(),
  worker: false,
  organizations: [{ id: organization, name: "Shop", returnOrigins: [ORIGIN] }]
})
const mandate = await service.forOrganization(organization).mandates.create(
  {
    kind: "SINGLE",
    subject_reference: "user_1",
    policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
    window: { ends_at: new Date(Date.now() + DAY_MS).toISOString() }
  },
  { idempotencyKey: "mandate-1" }
)
const page = await service.fetch(new Request(`${ORIGIN}/mandates/docs`))
const script = /src="([^"]+\.js)"/u.exec(await page.text())?.[1] ?? ""
const asset = await service.fetch(new Request(new URL(script, ORIGIN)))
await service.close()
console.log(
  JSON.stringify({ state: mandate.state, page: page.status, asset: asset.headers.get("content-type") })
)
