import { storeContract } from "@svc/testkit/StoreContract"
import { observedPorts } from "./ownStore.ts"

storeContract("observedPorts", () => observedPorts(() => undefined), { clock: "test" })
