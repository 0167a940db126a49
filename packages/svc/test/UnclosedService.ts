import { createService } from "../src/index.ts"
import { makeShop, newMandate } from "./Shop.ts"

/* A host that uses a service, with its workers, and never closes it. */

const shop = makeShop()
const service = createService(shop.serviceOptions)
const mandate = await service.forOrganization(shop.id).mandates.create(newMandate("user_1"))
console.log(mandate.state)
