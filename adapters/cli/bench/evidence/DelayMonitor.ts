/** Loaded into a server before its program: tells the process that started it how long its main thread was held up. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { MainThread } from "./MainThread.ts"

const RESOLUTION_MS = 1
const NANOS_PER_MS = 1e6
const BYTES_PER_KIB = 1024

const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delays.enable()

process.on("message", (order) => {
  if (order === "reset") delays.reset()
  const told: MainThread = {
    longestDelayMs: delays.max / NANOS_PER_MS,
    p99DelayMs: delays.percentile(99) / NANOS_PER_MS,
    peakBytes: process.resourceUsage().maxRSS * BYTES_PER_KIB
  }
  process.send?.(told)
})
// The server ends when it is told to, not when nobody asks any more.
process.channel?.unref()
