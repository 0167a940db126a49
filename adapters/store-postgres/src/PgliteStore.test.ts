import { storeContract } from "@svc/testkit/StoreContract"
import * as PgliteStore from "./PgliteStore.ts"

storeContract("PgliteStore", () => PgliteStore.layer(), { clock: "live" })
