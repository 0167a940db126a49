import { randomInt } from "node:crypto"
import { afterAll, assert, describe, it } from "vitest"
import { soakFailover } from "../soak/FailoverSoak.ts"
import { MAX_SEED } from "../soak/SoakSettings.ts"
import { startTestPostgres } from "./TestPostgres.ts"

const primary = await startTestPostgres()

describe.skipIf(primary?.own === undefined)("a primary that is killed under load", () => {
  afterAll(() => primary?.stop())

  it("is replaced by its synchronous standby, which lacks nothing that was acknowledged", {
    timeout: 300_000
  }, async () => {
    const seed = randomInt(MAX_SEED)
    const about = `seed ${seed}`
    const settings = { seed, clients: 8, processes: 1, failovers: 1, operations: 25 }
    const result = await soakFailover(settings, { ...primary!, own: primary!.own! })
    assert.deepStrictEqual(result.faults, [], about)
    assert.isAtLeast(result.events.get("answers 503") ?? 0, 1, about)
    assert.isAtLeast(result.checks.get("acknowledged writes are there") ?? 0, 1, about)
    assert.deepStrictEqual(result.planted, { found: result.planted.of, of: result.planted.of }, about)
    assert.lengthOf(result.failovers, 1)
  })
})
