import { assert, describe, it } from "@effect/vitest"
import { MAX_SERIES, makeMetricFamilies, OVERFLOW } from "./MetricFamilies.ts"

const samplesOf = (exposition: string): ReadonlyArray<string> =>
  exposition.split("\n").filter((line) => line !== "" && !line.startsWith("#"))

describe("metric families", () => {
  it("are shown with their description, their type and every series", () => {
    const { counter, exposition, gauge, histogram } = makeMetricFamilies()
    const requests = counter("requests_total", {
      help: "Requests.",
      labels: ["method", "status"],
      from: [["GET", "200"]]
    })
    requests.add(2, "PUT", "503")
    gauge("open", { help: "Open." }).add(3)
    histogram("wait_seconds", { help: "Waits.", boundaries: [0.1, 1] }).observe(0.5)
    assert.strictEqual(
      exposition(),
      `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{method="GET",status="200"} 0
requests_total{method="PUT",status="503"} 2
# HELP open Open.
# TYPE open gauge
open 3
# HELP wait_seconds Waits.
# TYPE wait_seconds histogram
wait_seconds_bucket{le="0.1"} 0
wait_seconds_bucket{le="1"} 1
wait_seconds_bucket{le="+Inf"} 1
wait_seconds_sum 0.5
wait_seconds_count 1
`
    )
  })

  it("read a value when they are shown", () => {
    const { counter, exposition, gauge } = makeMetricFamilies()
    let value = 1
    gauge("length", { help: "Length." }).read(() => value)
    counter("used_total", { help: "Used." }).read(() => 10 * value)
    value = 7
    assert.deepStrictEqual(samplesOf(exposition()), ["length 7", "used_total 70"])
  })

  it("lose a series that is removed until it is set again", () => {
    const { exposition, gauge } = makeMetricFamilies()
    const lag = gauge("lag_seconds", { help: "Lag." })
    lag.set(5)
    lag.remove()
    assert.deepStrictEqual(samplesOf(exposition()), [])
    lag.set(6)
    assert.deepStrictEqual(samplesOf(exposition()), ["lag_seconds 6"])
  })

  it("count together what exceeds their bound", () => {
    const { counter, exposition } = makeMetricFamilies()
    const seen = counter("seen_total", { help: "Seen.", labels: ["name", "kind"] })
    for (let at = 0; at < MAX_SERIES + 10; at++) seen.add(1, `name-${at}`, "a")
    seen.add(1, "name-0", "a")
    const samples = samplesOf(exposition())
    assert.strictEqual(samples.length, MAX_SERIES + 1)
    assert.include(samples, `seen_total{name="${OVERFLOW}",kind="${OVERFLOW}"} 10`)
    assert.include(samples, 'seen_total{name="name-0",kind="a"} 2')
  })

  it("are those of one registry", () => {
    const one = makeMetricFamilies()
    one.counter("mine_total", { help: "Mine." }).add(1)
    assert.strictEqual(makeMetricFamilies().exposition(), "")
  })
})
