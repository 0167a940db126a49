import type { Load } from "./Load.ts"
import { jsonRequest, openConnection } from "./RawConnection.ts"
import type { MeasuredProcess } from "./System.ts"

/** A server that takes pairs over HTTP, in a process of its own. */
export interface HttpSystem extends MeasuredProcess {
  readonly port: number
  readonly apiKey: string
}

/** The usage of a mandate, as far as pairs change it. */
export interface Usage {
  readonly committed_amount: number
  readonly committed_executions: number
  readonly reserved_amount: number
}

/** Whether a usage is that of so many pairs of the amount. */
export const isUsageOf = (usage: Usage | undefined, count: number, amount: number): boolean =>
  usage?.committed_executions === count &&
  usage.committed_amount === count * amount &&
  usage.reserved_amount === 0

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
    if (!isUsageOf(usage, count, amount))
      faults.push(`${mandate} after ${count} pairs: ${status} ${JSON.stringify(usage)}`)
  }
  connection.close()
  return faults
}
