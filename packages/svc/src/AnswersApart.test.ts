import { afterAll, assert, describe, it } from "@effect/vitest"
import { preparedPglite } from "@svc/store-postgres/test/PreparedPglite"
import { Effect, Exit, Scope } from "effect"
import { approvedMandate, commitReport, makeShop, newProposal } from "../test/Shop.ts"
import { createService } from "./index.ts"
import { pglite } from "./pglite.ts"

const folders = Effect.runSync(Scope.make())

afterAll(() => Effect.runPromise(Scope.close(folders, Exit.void)))

const inFolder = async () => ({
  store: pglite({ folder: await Effect.runPromise(Scope.provide(preparedPglite, folders)) }),
  masterKey: new Uint8Array(32)
})

/** Changes the texts and numbers of a resource in place, as a host may that shows them in another form. */
const spoil = (value: unknown): void => {
  if (typeof value !== "object" || value === null) return
  const members = value as Record<string, unknown>
  for (const [name, member] of Object.entries(members)) {
    if (typeof member === "number") members[name] = member * 100
    else if (typeof member === "string") members[name] = `${member}!`
    else spoil(member)
  }
}

for (const [name, storage] of [
  ["in memory", async () => ({})],
  ["on PGlite", inFolder]
] as const) {
  describe(`what a service ${name} answered`, () => {
    it("is the caller's: changing it changes neither what is decided next nor what is recorded", async () => {
      const shop = makeShop(await storage())
      const service = createService(shop.serviceOptions)
      const face = service.forOrganization(shop.id)
      const mandate = await approvedMandate(shop, face, service.fetch)
      const { opening, proposal } = await newProposal(4200)
      const authorization = await face.authorizations.propose(mandate, proposal)
      const { id } = authorization
      const before = structuredClone(authorization)
      spoil(authorization)
      spoil(await face.authorizations.commit(id, commitReport(opening)))
      const after = await face.authorizations.get(id)
      assert.deepStrictEqual(after.proposed_action, before.proposed_action)
      spoil(after)
      assert.deepStrictEqual((await face.authorizations.get(id)).proposed_action, before.proposed_action)
      await service.close()
    })
  })
}
