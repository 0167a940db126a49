import type { Pool } from "pg"
import { createService } from "svc"
import { postgres } from "svc/postgres"
import { SHOP } from "./service.ts"

/** What the shop's own configuration has for it. */
export interface ShopSettings {
  readonly pool: Pool
  readonly masterKey: string
  readonly isWorker: boolean
}

export const makeLiveService = ({ isWorker, masterKey, pool }: ShopSettings) =>
  createService({
    environment: "live",
    baseUrl: "https://api.shop.example/mandates",
    approvalUrl: "https://approve.shop.example",
    rpId: "shop.example",
    store: postgres({ pool, schema: "mandates", migrations: "require" }),
    masterKey,
    organizations: [
      {
        id: SHOP,
        name: "Shop",
        billingAccountReference: "ba_1",
        returnOrigins: ["https://shop.example"],
        reportGraceSeconds: 300
      }
    ],
    worker: isWorker,
    docs: false
  })
