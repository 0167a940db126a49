import { endOf, saidBy, startProgram } from "./Child.ts"
import type { EmbeddedAsked, EmbeddedOptions } from "./EmbeddedProgram.ts"
import { isUsageOf, type Usage } from "./HttpSystem.ts"
import { AMOUNT, type LoadResult } from "./Load.ts"
import { type OurDatabase, type OurTenant, rowFaults } from "./OurService.ts"
import { measureProcess, type System } from "./System.ts"

/** Our service in the process of a host, whose clients call it without HTTP. Its processor time has the clients' in it. */
export const startEmbedded = async (
  { databaseUrl, env, query }: OurDatabase,
  { mandates, organization }: OurTenant,
  log: number
): Promise<{ readonly system: System; readonly stop: () => Promise<void> }> => {
  const options: EmbeddedOptions = {
    databaseUrl,
    baseUrl: env.SVC_BASE_URL ?? "",
    approvalUrl: env.SVC_APPROVAL_BASE_URL ?? "",
    masterKey: env.SVC_MASTER_KEY ?? "",
    organization
  }
  const child = startProgram("./EmbeddedProgram.ts", [JSON.stringify(options)], log)
  await saidBy(child)
  const ask = (asked: EmbeddedAsked): Promise<unknown> => {
    child.send(asked)
    return saidBy(child)
  }
  const recount = async (pairs: ReadonlyMap<string, number>): Promise<ReadonlyArray<string>> => {
    const faults: Array<string> = []
    for (const [mandate, count] of pairs) {
      const usage = (await ask({ usageOf: mandate })) as Usage
      if (!isUsageOf(usage, count, AMOUNT))
        faults.push(`${mandate} after ${count} pairs: ${JSON.stringify(usage)}`)
    }
    return [...faults, ...(await rowFaults(query, organization, pairs))]
  }
  return {
    system: measureProcess(
      { pid: child.pid!, settle: () => Promise.resolve(), recount },
      mandates,
      (asked) => ask(asked) as Promise<LoadResult>
    ),
    stop: () => {
      child.disconnect()
      return endOf(child)
    }
  }
}
