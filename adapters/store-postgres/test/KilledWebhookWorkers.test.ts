import { randomInt } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { SHORT_SOAK_TIMEOUT } from "../soak/ShortSoak.ts"
import { MAX_SEED } from "../soak/SoakSettings.ts"
import { soakWebhooks } from "../soak/WebhookSoak.ts"
import { startTestPostgres } from "./TestPostgres.ts"

const KILLS = 5

/** Without these, a soak has shown nothing, however well it went. */
const NEEDED = [
  "killed after the answer",
  "endpoints deleted",
  "endpoints reactivated",
  "attempts lost with their worker"
]

const server = await startTestPostgres()

describe.skipIf(server === undefined)("processes that deliver webhooks, killed at random instants", () => {
  afterAll(() => server?.stop())

  it(
    "lose no event, and count every attempt once",
    async () => {
      const seed = randomInt(MAX_SEED)
      const about = `${KILLS} kills, seed ${seed}`
      process.stdout.write(`soak of webhooks, ${about}\n`)
      const settings = { seed, workers: 2, kills: KILLS, requestsPerKill: 15, pause: 300 }
      const { events, faults, kills, planted } = await soakWebhooks(settings, server!.url)
      assert.deepStrictEqual(faults, [], about)
      assert.strictEqual(kills, KILLS, about)
      for (const name of NEEDED) assert.isAtLeast(events.get(name) ?? 0, 1, `${name}, ${about}`)
      assert.strictEqual(planted.found, planted.of, about)
      assert.isAtLeast(planted.of, 1, about)
    },
    SHORT_SOAK_TIMEOUT
  )
})
