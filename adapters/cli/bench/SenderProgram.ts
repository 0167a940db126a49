/** A sender in a process of its own: fills, and sends when it is told to. */
import { bareSender } from "./BareSender.ts"
import { bossSender } from "./BossSender.ts"
import { graphileSender } from "./GraphileSender.ts"
import type { Load, Sender } from "./Sender.ts"
import { serviceSender } from "./ServiceSender.ts"

export const SENDERS = {
  ours: serviceSender,
  "graphile-worker": graphileSender,
  "pg-boss": bossSender,
  limit: bareSender
}
export type SenderName = keyof typeof SENDERS

const BUSY_PAUSE_MILLISECONDS = 5

if (import.meta.main) {
  const [name, load] = process.argv.slice(2)
  const sender: Sender = SENDERS[name as SenderName](JSON.parse(load ?? "") as Load)
  process.once("disconnect", () => process.exit())
  let before = process.cpuUsage()
  process.on("message", async (message) => {
    if (message === "start") {
      before = process.cpuUsage()
      await sender.start()
    }
    if (message !== "all arrived") return
    while (await sender.isBusy()) await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE_MILLISECONDS))
    const { system, user } = process.cpuUsage(before)
    process.send?.(system + user)
  })
  await sender.fill()
  process.send?.("ready")
}
