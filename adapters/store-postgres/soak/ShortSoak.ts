import { randomInt } from "node:crypto"
import { assert } from "@effect/vitest"
import { copyPglite } from "../test/PreparedPglite.ts"
import { soak } from "./SoakRun.ts"
import { MAX_SEED, type SoakSettings } from "./SoakSettings.ts"

/** A short soak may take as long as a busy machine needs, in milliseconds; nothing is asserted on time. */
export const SHORT_SOAK_TIMEOUT = 600_000

/** Without these, a soak has shown nothing, however well it went. */
const NEEDED_CHECKS = [
  "acknowledged writes are there",
  "acknowledged approvals are there",
  "acknowledged keys are bound",
  "operations happened once",
  "one resource per key",
  "budgets kept at each event",
  "budgets kept, late use counted, at each ALLOW",
  "one terminal event per authorization",
  "streams without gaps",
  "event hashes",
  "links of the chain",
  "order of time",
  "snapshots",
  "commitments are bound"
]

/** A soak of `npm test`: every kill was made, every check was made and held, and the auditor is one that finds faults. */
export const assertShortSoak = async (
  settings: Omit<SoakSettings, "seed">,
  postgresUrl?: string
): Promise<void> => {
  const seed = randomInt(MAX_SEED)
  const { kills, operations, processes } = settings
  const about = `${processes} on ${postgresUrl === undefined ? "PGlite" : "Postgres"}, ${kills} kills, seed ${seed}`
  process.stdout.write(`soak of ${about}\n`)
  const result = await soak({ ...settings, seed }, postgresUrl, copyPglite)
  assert.deepStrictEqual(result.faults, [], about)
  assert.strictEqual(result.kills, kills, about)
  assert.isAtLeast(result.operations, operations, about)
  assert.isAtLeast(result.events.get("64 identical requests at once") ?? 0, 1, about)
  const lacking = NEEDED_CHECKS.filter((name) => result.checks.get(name) === undefined)
  assert.deepStrictEqual(lacking, [], about)
  assert.deepStrictEqual(result.planted, { found: result.planted.of, of: result.planted.of }, about)
}
