/** Loaded into a server before its program: tells the process that started it how long its main thread was held up. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { MainThread } from "./MainThread.ts"

const RESOLUTION_MS = 1
const NANOS_PER_MS = 1e6
const MICROS_PER_MS = 1e3
const BYTES_PER_KIB = 1024

const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delays.enable()

const threadMs = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / MICROS_PER_MS
}

let lastMs = threadMs()
let longestWorkMs = 0
setInterval(() => {
  const now = threadMs()
  longestWorkMs = Math.max(longestWorkMs, now - lastMs)
  lastMs = now
}, RESOLUTION_MS).unref()

process.on("message", (order) => {
  if (order === "reset") {
    delays.reset()
    longestWorkMs = 0
  }
  const told: MainThread = {
    longestDelayMs: delays.max / NANOS_PER_MS,
    p99DelayMs: delays.percentile(99) / NANOS_PER_MS,
    longestWorkMs,
    peakBytes: process.resourceUsage().maxRSS * BYTES_PER_KIB
  }
  process.send?.(told)
})
// The server ends when it is told to, not when nobody asks any more.
process.channel?.unref()
