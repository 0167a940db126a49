import { Effect, Exit, Redacted } from "effect"
import { afterAll, assert, describe, it } from "vitest"
import { checkSession } from "../src/PostgresStore.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()

describe.skipIf(server === undefined)("the check of a session", () => {
  afterAll(() => server?.stop())

  it("finds the settings that every session must have, whatever the URL asks for", async () => {
    const url = new URL(server?.url ?? "")
    for (const options of ["", "-c synchronous_commit=off -c default_transaction_isolation=serializable"]) {
      if (options !== "") url.searchParams.set("options", options)
      const checked = await Effect.runPromiseExit(checkSession({ url: Redacted.make(url.href) }))
      assert.isTrue(Exit.isSuccess(checked), String(checked))
    }
  })
})
