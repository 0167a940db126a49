import { assert, describe, it } from "@effect/vitest"
import { StreamTurns } from "@svc/domain/engine/StreamTurns"
import { NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { promiseMemory } from "../test/PromiseMemory.ts"
import { makeShop } from "../test/Shop.ts"
import { createService, type Service, ServiceParts } from "./Service.ts"
import { storeFromPromises } from "./StoreFromPromises.ts"

const now = () => BigInt(Date.now()) * NANOS_PER_MILLISECOND

describe("a store with promises", () => {
  it("is shared by services that do not wait for the turns of one another", async () => {
    const shared = await promiseMemory({ now })
    const { serviceOptions } = makeShop({ store: storeFromPromises(() => shared) })
    const [one, other] = [createService(serviceOptions), createService(serviceOptions)]
    const turnsOf = (service: Service) => service[ServiceParts].runtime.run(StreamTurns)
    assert.notStrictEqual(await turnsOf(one), await turnsOf(other))
    await Promise.all([one.close(), other.close()])
  })
})
