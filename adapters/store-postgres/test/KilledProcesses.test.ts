import { afterAll, describe, it } from "@effect/vitest"
import { assertShortSoak, SHORT_SOAK_TIMEOUT } from "../soak/ShortSoak.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()

describe.skipIf(server === undefined)("server processes on one Postgres, killed at random instants", () => {
  afterAll(() => server?.stop())

  it(
    "lose nothing that was acknowledged, do nothing twice, and overspend no budget",
    () => assertShortSoak({ processes: 3, clients: 64, operations: 100, kills: 3 }, server?.url),
    SHORT_SOAK_TIMEOUT
  )
})
