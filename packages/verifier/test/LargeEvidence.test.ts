import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import {
  at,
  bytesOf,
  CREATED,
  DAY,
  HOUR,
  keySet,
  recurringBody,
  SECOND,
  signPayload,
  tellJournal,
  termsOf
} from "@svc/testkit/EvidenceMaker"

/** As many as a mandate may have (part 4). */
const AUTHORIZATIONS = 10_000
/** On a machine that is busy with other things. */
const TIMEOUT_MS = 300_000
const MAX_RSS_BYTES = 512 * 1024 * 1024

const longJournal = () => {
  const journal = tellJournal(termsOf(recurringBody({ periods: [{ unit: "DAY", max_executions: 100_000 }] })))
  journal.approve(CREATED + HOUR)
  const start = at("2026-12-01T00:00:01Z")
  for (let number = 0; number < AUTHORIZATIONS; number++) {
    const now = start + BigInt(number) * 60n * SECOND
    journal.propose(number, now)
    if (number % 3 === 0) journal.commit(number, now + SECOND)
    if (number % 3 === 1) journal.cancel(number, now + SECOND)
  }
  return journal.payload(start + 30n * DAY)
}

describe("evidence of ten thousand authorizations", () => {
  it("verifies within 512 MiB", { timeout: TIMEOUT_MS }, () => {
    const folder = mkdtempSync(join(tmpdir(), "evidence-"))
    try {
      const evidence = join(folder, "evidence.json")
      const keys = join(folder, "jwks.json")
      writeFileSync(evidence, bytesOf(signPayload(longJournal())))
      writeFileSync(keys, JSON.stringify(keySet))
      const program = fileURLToPath(new URL("./large.program.ts", import.meta.url))
      const { stderr, stdout } = spawnSync(process.execPath, [program, evidence, keys], { encoding: "utf8" })
      const result = JSON.parse(stdout || JSON.stringify({ stderr }))
      assert.deepInclude(result, { verdict: "valid", decisions: AUTHORIZATIONS })
      assert.isAbove(result.events, 2 * AUTHORIZATIONS - 1)
      assert.isBelow(result.maxRssBytes, MAX_RSS_BYTES)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
