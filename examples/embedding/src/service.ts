import { createService } from "svc"
import { memory } from "svc/memory"

/** Made once with `newOrganizationId()` and kept. */
export const SHOP = "org_01jdxxxxxxxxxxxxxxxxxxxxxx"

export const makeService = (port: number) =>
  createService({
    environment: "test",
    baseUrl: `http://localhost:${port}/mandates`,
    approvalUrl: `http://localhost:${port}/approvals`,
    store: memory(),
    organizations: [{ id: SHOP, name: "Shop", returnOrigins: [`http://localhost:${port}`] }]
  })
