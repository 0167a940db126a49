import type { Load } from "./Load.ts"
import { jsonRequest, openConnection } from "./RawConnection.ts"

/** A server that takes pairs over HTTP, in a process of its own. */
export interface HttpSystem {
  readonly port: number
  readonly pid: number
  readonly apiKey: string
  /** Waits until what the load left to do is done: it would be at the cost of who is measured next. */
  readonly settle: () => Promise<void>
  /** What a recount of its tables finds wrong, given the pairs of each mandate. */
  readonly recount: (pairs: ReadonlyMap<string, number>) => Promise<ReadonlyArray<string>>
}

interface Usage {
  readonly committed_amount: number
  readonly committed_executions: number
  readonly reserved_amount: number
}

/** Mandates whose usage, as the server shows it, is not that of so many pairs of the amount. */
export const usageFaults = async (
  { apiKey, port }: Pick<Load, "apiKey" | "port">,
  pairs: ReadonlyMap<string, number>,
  amount: number
): Promise<ReadonlyArray<string>> => {
  const connection = await openConnection(port)
  const faults: Array<string> = []
  for (const [mandate, count] of pairs) {
    const { body, status } = await connection.send(
      jsonRequest(`GET /v1/mandates/${mandate}`, {
        host: `localhost:${port}`,
        authorization: `Bearer ${apiKey}`
      })
    )
    const usage: Usage | undefined = status === 200 ? JSON.parse(body).usage : undefined
    const isRight =
      usage?.committed_executions === count &&
      usage.committed_amount === count * amount &&
      usage.reserved_amount === 0
    if (!isRight) faults.push(`${mandate} after ${count} pairs: ${status} ${JSON.stringify(usage)}`)
  }
  connection.close()
  return faults
}
