import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { LocalService } from "./LocalService.ts"
import type { Running } from "./Running.ts"

const AGENT = fileURLToPath(new URL("../src/agent.ts", import.meta.url))

export interface AgentProcess {
  /** `kill -9`; resolves when it is gone. */
  readonly kill: () => Promise<void>
  /** How it ended, and what it printed. */
  readonly ended: Promise<{
    readonly code: number | null
    readonly signal: string | null
    readonly printed: string
  }>
}

/** Starts the agent in a process of its own, which reaches everything through the proxy. */
export const startAgent = (
  { apiKey, mandate }: LocalService,
  proxy: Running,
  folder: string,
  ...order: ReadonlyArray<string>
): AgentProcess => {
  const settings = {
    SVC_BASE_URL: proxy.url,
    SVC_API_KEY: apiKey,
    PROVIDER_URL: proxy.url,
    MANDATE: mandate,
    ORDERS_FOLDER: folder
  }
  const child = spawn(process.execPath, [AGENT, ...order], {
    env: { ...process.env, ...settings },
    stdio: ["ignore", "pipe", "inherit"]
  })
  let printed = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text
  })
  const closed = once(child, "close")
  return {
    kill: async () => {
      child.kill("SIGKILL")
      await closed
    },
    ended: closed.then(([code, signal]) => ({ code, signal, printed }))
  }
}
