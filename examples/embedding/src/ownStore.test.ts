import { assert, describe, it } from "@effect/vitest"
import { approvedShop } from "./approved.ts"
import { observedStore } from "./ownStore.ts"

describe("a store of the host's own", () => {
  it("serves a service, which goes through it for each write", async () => {
    const appends: Array<number> = []
    const store = observedStore((events) => appends.push(events))
    const { service, shop } = await approvedShop({ store })
    assert.isAbove(appends.length, 3)
    const recorded = appends.reduce((sum, events) => sum + events, 0)
    assert.lengthOf((await shop.events.list({ limit: 100 })).data, recorded)
    await service.close()
  })
})
