import { randomInt } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { PLANTED_WEBHOOK_FAULTS } from "../soak/PlantedWebhookFaults.ts"
import { SHORT_SOAK_TIMEOUT } from "../soak/ShortSoak.ts"
import { MAX_SEED } from "../soak/SoakSettings.ts"
import { soakWebhooks } from "../soak/WebhookSoak.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const KILLS = 5

/** Without these, a soak has shown nothing, however well it went. */
const NEEDED = [
  "killed after the answer",
  "endpoints deleted",
  "endpoints reactivated",
  "attempts lost with their worker"
]
const PLANTED_CHECKS = new Set([...PLANTED_WEBHOOK_FAULTS.values()].map(({ check }) => check))

const server = await openTestDatabase()

describe.skipIf(server === undefined)("processes that deliver webhooks, killed at random instants", () => {
  afterAll(() => server?.stop())

  it(
    "lose no event, and count every attempt once",
    async () => {
      const seed = randomInt(MAX_SEED)
      const about = `${KILLS} kills, seed ${seed}`
      process.stdout.write(`soak of webhooks, ${about}\n`)
      const settings = {
        seed,
        workers: 2,
        kills: KILLS,
        requestsPerKill: 15,
        pause: 400,
        plantsFaults: false
      }
      const { checks, events, faults, kills } = await soakWebhooks(settings, server!.url)
      assert.deepStrictEqual(faults, [], about)
      assert.strictEqual(kills, KILLS, about)
      for (const name of NEEDED) assert.isAtLeast(events.get(name) ?? 0, 1, `${name}, ${about}`)
      for (const name of PLANTED_CHECKS) assert.isAtLeast(checks.get(name) ?? 0, 1, `${name}, ${about}`)
    },
    SHORT_SOAK_TIMEOUT
  )
})
