/** Shows the agent: it pays for an order, is killed in the middle of the next, and comes up again. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startAgent } from "./AgentProcess.ts"
import { startInterruptions } from "./Interruptions.ts"
import { startService } from "./LocalService.ts"
import { startProvider } from "./PretendProvider.ts"

const folder = mkdtempSync(join(tmpdir(), "orders-"))
const service = await startService()
const provider = await startProvider()
const proxy = await startInterruptions(service, provider)
const start = (...order: ReadonlyArray<string>) => startAgent(service, proxy, folder, ...order)

console.log("The agent pays for order-1.")
process.stdout.write((await start("order-1", "4200").ended).printed)

console.log("The agent pays for order-2, and is killed when the provider has accepted the payment.")
const killed = start("order-2", "1900")
proxy.at("after pay", killed.kill)
await killed.ended

console.log("The agent comes up again.")
process.stdout.write((await start().ended).printed)

const { usage } = await service.svc.mandates.get(service.mandate)
console.log(`The provider has made ${provider.transfers.length} payments.`)
console.log(
  `The mandate counts ${usage.committed_amount} cents as spent, and has ${usage.reserved_amount} reserved.`
)

await proxy.stop()
await provider.stop()
await service.stop()
rmSync(folder, { recursive: true })
