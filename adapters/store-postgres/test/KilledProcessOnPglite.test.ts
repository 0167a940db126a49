import { describe, it } from "@effect/vitest"
import { assertShortSoak, SHORT_SOAK_TIMEOUT } from "../soak/ShortSoak.ts"

describe("a server process on PGlite, killed at random instants", () => {
  it(
    "loses nothing that was acknowledged, does nothing twice, and overspends no budget",
    () => assertShortSoak({ processes: 1, clients: 64, operations: 40, kills: 1 }),
    SHORT_SOAK_TIMEOUT
  )
})
