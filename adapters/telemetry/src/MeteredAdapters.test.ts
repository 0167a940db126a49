import { assert, it } from "@effect/vitest"
import { countUnsentAttempts } from "./MeteredAdapters.ts"
import { makeMetricFamilies } from "./MetricFamilies.ts"
import { makeServiceMetrics } from "./ServiceMetrics.ts"

it("an attempt that ended before anything was sent is counted by its error", () => {
  const families = makeMetricFamilies()
  countUnsentAttempts(makeServiceMetrics(families))({ error: "secret_unavailable", durationMs: 0 })
  const text = families.exposition()
  assert.include(text, 'svc_webhook_attempts_total{result="secret_unavailable"} 1\n')
  assert.include(text, "svc_webhook_attempt_duration_seconds_count 0\n")
})
