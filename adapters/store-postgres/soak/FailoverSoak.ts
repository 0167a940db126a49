import { startDeployment, type TestDeployment } from "../test/TestDeployment.ts"
import { freePort, type TestPostgres } from "../test/TestPostgres.ts"
import { rowOf, startStandby, type TestStandby } from "../test/TestStandby.ts"
import { missedFaults, PLANTED_FAULTS } from "./PlantedFaults.ts"
import { retryingClient, type SoakLog } from "./RetryingClient.ts"
import { seededRandom } from "./SeededRandom.ts"
import { pause } from "./ServerFleet.ts"
import { runOnStore } from "./ServerProgram.ts"
import type { SoakResult } from "./SoakRun.ts"
import { auditTables } from "./TableAuditor.ts"
import { postgresTables } from "./Tables.ts"
import { newWorld, prepare, soakClient } from "./Workload.ts"

export interface FailoverSettings {
  readonly seed: number
  readonly clients: number
  readonly processes: number
  /** How often the primary is killed and its standby promoted. */
  readonly failovers: number
  /** Operations before each failover, and after the last one. */
  readonly operations: number
}

/** One failover, each in milliseconds since the primary was killed. */
export interface FailoverTimes {
  /** The standby takes writes. */
  readonly promoted: number
  /** `svc store acknowledge-history --lossless` has ended. */
  readonly acknowledged: number
  /** A write that was tried all the while is acknowledged. */
  readonly resumed: number
}

export interface FailoverResult
  extends Pick<SoakResult, "operations" | "milliseconds" | "events" | "checks" | "planted" | "faults"> {
  readonly failovers: ReadonlyArray<FailoverTimes>
}

const POLL_MILLISECONDS = 10
/** How long an operator, or the program of one, leaves the promoted standby to itself. */
const OPERATOR_MILLISECONDS = 500
const DAY_MILLISECONDS = 86_400_000

/** What every server logs about a failover. Nothing else is an error. */
const isUnexpected = (fault: string): boolean => !fault.includes("the history of the store changed")

const newMandate = (name: string) => ({
  kind: "SINGLE",
  subject_reference: name,
  description: name,
  policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
  window: { ends_at: new Date(Date.now() + DAY_MILLISECONDS).toISOString() }
})

const eventsAt = async (url: string): Promise<number> =>
  Number((await rowOf(url, "select count(*)::text as events from svc.event"))?.events)

/** A server that may be lost. */
interface Primary {
  readonly url: string
  readonly kill: () => Promise<void>
}

/**
 * Kills the primary under load and promotes its synchronous standby, as often as the settings say, while server processes
 * whose `SVC_STORE` lists all hosts find the one that takes writes by themselves. Then it audits the tables of the last one:
 * nothing that any client was acknowledged is missing.
 */
export const soakFailover = async (
  settings: FailoverSettings,
  first: TestPostgres & Required<Pick<TestPostgres, "own">>
): Promise<FailoverResult> => {
  const { clients, failovers, operations, processes, seed } = settings
  const random = seededRandom(seed)
  const world = newWorld()
  const log: SoakLog = world.log
  const ports: Array<number> = []
  while (ports.length < failovers) ports.push(await freePort())
  const hosts = [new URL(first.url).host, ...ports.map((port) => `127.0.0.1:${port}`)]
  const store = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`
  let deployment: TestDeployment | undefined
  const standbys: Array<TestStandby> = []
  const times: Array<FailoverTimes> = []
  const begun = Date.now()

  const untilDone = async (target: number): Promise<void> => {
    while (world.done < target) await pause(POLL_MILLISECONDS)
  }

  try {
    let primary: Primary = { url: first.url, kill: first.own.kill }
    deployment = await startDeployment(
      store,
      Array.from({ length: processes }, () => ({}))
    )
    const { servers, tenant } = deployment
    const failOver = async (
      primary: Primary,
      standby: TestStandby,
      round: number
    ): Promise<FailoverTimes> => {
      const client = retryingClient(servers, tenant.api_key, random.fork(), log)
      await primary.kill()
      const killedAt = Date.now()
      const resumed = client
        .write("POST", "/v1/mandates", {}, newMandate(`failover-${round}`), `failover-${round}`)
        .then(() => Date.now() - killedAt)
      await standby.caughtUp()
      const replicated = await eventsAt(standby.url)
      await standby.promote()
      const promoted = Date.now() - killedAt
      await pause(OPERATOR_MILLISECONDS)
      const recorded = (await eventsAt(standby.url)) - replicated
      if (recorded > 0) log.faults.push(`${recorded} events were recorded before the acknowledgement`)
      await runOnStore(store, ["store", "acknowledge-history", "--lossless"])
      return { promoted, acknowledged: Date.now() - killedAt, resumed: await resumed }
    }

    const follow = async (round: number): Promise<TestStandby> => {
      const standby = await startStandby(primary, { synchronous: true, port: ports[round]! })
      standbys.push(standby)
      return standby
    }
    const optionsOf = (name: string) => ({ servers, tenant, world, random: random.fork(), name })
    await prepare(optionsOf("first"))
    let isOver = false
    const working = Array.from({ length: clients }, async (_, at) => {
      const { step } = soakClient(optionsOf(`c${at}`))
      while (!isOver) await step()
    })
    for (let round = 0; round < failovers; round++) {
      const standby = await follow(round)
      await untilDone(world.done + operations)
      times.push(await failOver(primary, standby, round))
      primary = standby
    }
    await untilDone(world.done + operations)
    isOver = true
    await Promise.all(working)
    await deployment.end()
    const { organization_id: organization } = tenant
    const input = {
      ...(await postgresTables(primary.url)(organization)),
      organization,
      writes: log.writes,
      approved: world.approved
    }
    const { counts, faults } = auditTables(input)
    const missed = missedFaults(input)
    return {
      operations: world.done,
      milliseconds: Date.now() - begun,
      events: log.counts,
      checks: counts,
      planted: { found: PLANTED_FAULTS.size - missed.length, of: PLANTED_FAULTS.size },
      faults: [
        ...log.faults,
        ...deployment.faults.filter(isUnexpected),
        ...faults,
        ...missed.map((name) => `the audit does not find ${name}`)
      ],
      failovers: times
    }
  } finally {
    await deployment?.end()
    for (const standby of standbys.reverse()) await standby.stop()
  }
}
