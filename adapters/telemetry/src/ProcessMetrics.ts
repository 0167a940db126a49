import { monitorEventLoopDelay, performance } from "node:perf_hooks"
import { Effect, type Scope } from "effect"
import type { MetricFamilies } from "./MetricFamilies.ts"

/** How often the event loop's delay is sampled, in milliseconds. */
const SAMPLE_EVERY_MILLISECONDS = 10
/** What the event loop's delay is said of: the last interval of this length that is over, in milliseconds. */
const DELAY_INTERVAL_MILLISECONDS = 10_000
const NANOSECONDS_PER_SECOND = 1e9
const NANOSECONDS_PER_MILLISECOND = 1e6
const MICROSECONDS_PER_SECOND = 1e6
const MILLISECONDS_PER_SECOND = 1000

/** The quantiles of the event loop's delay that are shown, in percent. */
const PERCENTILES = { "0.5": 50, "0.99": 99, "1": 100 } as const

/** Shows how long the event loop kept timers waiting. A sample includes the interval at which samples are taken, which is no delay. */
const watchEventLoopDelay = ({ gauge }: MetricFamilies): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const delay = gauge("svc_event_loop_delay_seconds", {
      help: "How late the event loop ran timers in the last 10 s, by quantile; 1 is the maximum.",
      labels: ["quantile"],
      from: Object.keys(PERCENTILES).map((quantile) => [quantile])
    })
    const sampled = SAMPLE_EVERY_MILLISECONDS * NANOSECONDS_PER_MILLISECOND
    const histogram = monitorEventLoopDelay({ resolution: SAMPLE_EVERY_MILLISECONDS })
    const show = () => {
      if (histogram.count === 0) return
      for (const [quantile, percent] of Object.entries(PERCENTILES)) {
        const nanoseconds = Math.max(0, histogram.percentile(percent) - sampled)
        delay.set(nanoseconds / NANOSECONDS_PER_SECOND, quantile)
      }
      histogram.reset()
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        histogram.enable()
        return setInterval(show, DELAY_INTERVAL_MILLISECONDS).unref()
      }),
      (timer) =>
        Effect.sync(() => {
          clearInterval(timer)
          histogram.disable()
        })
    )
  })

const seconds = (microseconds: number): number => microseconds / MICROSECONDS_PER_SECOND

/** Shows what the process uses, under the names that Prometheus' client libraries have for it, until the scope closes. */
export const watchProcess = (
  families: MetricFamilies,
  version: string
): Effect.Effect<void, never, Scope.Scope> => {
  const { counter, gauge } = families
  counter("process_cpu_seconds_total", { help: "User and system CPU time of the process." }).read(() => {
    const { system, user } = process.cpuUsage()
    return seconds(system + user)
  })
  gauge("process_resident_memory_bytes", { help: "Resident memory of the process." }).read(() =>
    process.memoryUsage.rss()
  )
  gauge("process_start_time_seconds", { help: "When the process started, since the epoch." }).read(
    () => performance.timeOrigin / MILLISECONDS_PER_SECOND
  )
  gauge("nodejs_heap_used_bytes", { help: "Memory of the JavaScript heap that is in use." }).read(
    () => process.memoryUsage().heapUsed
  )
  counter("svc_event_loop_active_seconds_total", {
    help: "Time in which the event loop was not waiting for something to do."
  }).read(() => performance.eventLoopUtilization().active / MILLISECONDS_PER_SECOND)
  gauge("svc_build_info", { help: "Always 1; the label is the release.", labels: ["version"] }).set(
    1,
    version
  )
  return watchEventLoopDelay(families)
}
