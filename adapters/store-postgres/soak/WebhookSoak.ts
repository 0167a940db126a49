import { randomBytes } from "node:crypto"
import { recordLostAttempts } from "@svc/domain/workers/WebhookAttempts"
import { harnessDeployment } from "@svc/testkit/ProgramHarness"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { Layer, ManagedRuntime } from "effect"
import { plantFaults } from "./PlantedWebhookFaults.ts"
import { type SeededRandom, seededRandom } from "./SeededRandom.ts"
import { pause } from "./ServerFleet.ts"
import { auditWebhooks, type WebhookAuditInput } from "./WebhookAuditor.ts"
import { openWebhookJournal, type WebhookJournal } from "./WebhookJournal.ts"
import { type WebhookPlace, webhookPorts } from "./WebhookPorts.ts"
import { type Moment, startWebhookReceiver, type WebhookReceiver } from "./WebhookReceiver.ts"
import { newWebhookTenant, type RunPrograms, type WebhookTenant } from "./WebhookTenant.ts"
import { startWebhookWorkers, type WebhookWorkerFleet } from "./WebhookWorkerFleet.ts"

const MASTER_KEY_BYTES = 32
/** Lease of an attempt, in nanoseconds; a live worker usually reports sooner. */
const LOST_AFTER = 2_500_000_000n
const HURRY_MILLISECONDS = 100
const LONGEST_DELAY_MILLISECONDS = 400
/** Longest wait for the request that a kill aims at; after it, any worker is killed. */
const PATIENCE_MILLISECONDS = 30_000
/** Deliveries that may be outstanding before there are more events: dead endpoints take their time. */
const OUTSTANDING_DELIVERIES = 500
/** Longest that it may take until everything is done, once no fault is left. */
const SETTLE_MILLISECONDS = 120_000
const SETTLE_POLL_MILLISECONDS = 250

export interface WebhookSoakSettings {
  readonly seed: number
  /** Processes that deliver. */
  readonly workers: number
  readonly kills: number
  /** Requests between two kills, on average. */
  readonly requestsPerKill: number
  /** Pause between the mandates of an organization, in milliseconds. */
  readonly pause: number
  /** Whether the audit is tried, too, with faults planted into what it is given: that takes as long as 30 audits. */
  readonly plantsFaults: boolean
}

export interface WebhookSoakResult {
  /** How long it took without the audit. */
  readonly milliseconds: number
  readonly kills: number
  /** What has happened, by name. */
  readonly events: ReadonlyMap<string, number>
  /** How often the audit made each of its checks, and they held. */
  readonly checks: ReadonlyMap<string, number>
  /** Planted faults that the audit found, of how many. */
  readonly planted: { readonly found: number; readonly of: number }
  /** Everything that does not hold, the planted faults that were missed included. */
  readonly faults: ReadonlyArray<string>
}

/** What the parts of a soak share. */
interface Stage {
  readonly fleet: WebhookWorkerFleet
  readonly receiver: WebhookReceiver
  readonly journal: WebhookJournal
  readonly tenants: ReadonlyArray<WebhookTenant>
  readonly run: RunPrograms
  readonly faults: Array<string>
  readonly counts: Map<string, number>
  readonly count: (name: string, times?: number) => void
}

/** What is done again and again until it is over. */
const until = async (isOver: () => boolean, step: () => Promise<unknown>): Promise<void> => {
  while (!isOver()) await step()
}

/** Kills the process of a request at that moment: it has been sent, or answered, and nobody has recorded it. */
const killAt = async (moment: Moment, { count, fleet, receiver }: Stage): Promise<boolean> => {
  const deadline = Date.now() + PATIENCE_MILLISECONDS
  let isOver = false
  let isHit = false
  const ask = (): void =>
    receiver.next(moment, (process) => {
      if (isOver) return
      isHit = fleet.kill(process)
      isOver = isHit
      if (!isOver) ask()
    })
  ask()
  while (!isOver && Date.now() < deadline) await pause(1)
  isOver = true
  if (isHit) count(moment === "received" ? "killed before the answer" : "killed after the answer")
  return isHit
}

const killAtRandom = async ({ count, fleet }: Stage, random: SeededRandom, early: boolean): Promise<void> => {
  while (!fleet.kill(random.pick(early ? fleet.living() : fleet.working()))) await pause(1)
  count(early ? "killed at any time of its life" : "killed at work")
}

/** What each kill is for, over and over: two of five hit a worker whose request has been answered but not recorded. */
const AIMS = ["answered", "received", "work", "answered", "life"] as const

/** Makes all kills, each once so many requests more have come, at a random instant. */
const makeKills = async (
  stage: Stage,
  settings: WebhookSoakSettings,
  random: SeededRandom
): Promise<void> => {
  const { fleet, receiver } = stage
  for (let number = 0; number < settings.kills; number++) {
    const aim = AIMS[number % AIMS.length]
    const due = receiver.requests.length + random.integer(0, 2 * settings.requestsPerKill)
    const deadline = Date.now() + PATIENCE_MILLISECONDS
    while (receiver.requests.length < due && Date.now() < deadline) await pause(1)
    while (fleet.working().length === 0) await pause(1)
    await pause(random.integer(0, LONGEST_DELAY_MILLISECONDS))
    const isDone = (aim === "answered" || aim === "received") && (await killAt(aim, stage))
    if (!isDone) await killAtRandom(stage, random, aim === "life")
  }
}

/** Registers endpoints of every manner; of one organization one is deleted halfway, and another takes its place. */
const setUp = async ([first, second]: ReadonlyArray<WebhookTenant>): Promise<() => Promise<void>> => {
  for (const manner of ["healthy", "closing", "flaky", "dead"] as const) await first?.register(manner)
  for (const manner of ["healthy", "slow", "dead", "flaky"] as const) await second?.register(manner)
  const doomed = [await first?.register("slow"), await second?.register("dead")]
  return async () => {
    await Promise.all([first, second].map((tenant, at) => tenant?.remove(doomed[at] ?? "")))
    await first?.register("healthy")
  }
}

const load = async (stage: Stage, settings: WebhookSoakSettings, random: SeededRandom): Promise<void> => {
  const { count, counts, fleet, journal, tenants } = stage
  let isOver = false
  const over = () => isOver
  const change = await setUp(tenants)
  await fleet.untilAllWork()
  const halfway = async () => {
    while (fleet.kills() * 2 < settings.kills) await pause(HURRY_MILLISECONDS)
    await change()
    count("endpoints deleted", tenants.length)
  }
  const untilReactivated = async () => {
    const deadline = Date.now() + SETTLE_MILLISECONDS
    const isMissing = () => (counts.get("endpoints reactivated") ?? 0) === 0 && Date.now() < deadline
    while (isMissing()) await pause(HURRY_MILLISECONDS)
  }
  const killing = Promise.all([untilReactivated(), makeKills(stage, settings, random.fork()), halfway()])
  const noises = random.fork()
  await Promise.all([
    killing.finally(() => {
      isOver = true
    }),
    until(over, () => Promise.all([journal.hurry({ spares: true }), pause(HURRY_MILLISECONDS)])),
    ...tenants.flatMap((tenant) => [
      until(over, async () => {
        await tenant.live()
        count("mandates")
        await pause(settings.pause)
        while (!isOver && (await journal.unsettled()) > OUTSTANDING_DELIVERIES) await pause(settings.pause)
      }),
      until(over, async () => {
        await pause(noises.integer(settings.pause, 3 * settings.pause))
        count("endpoints reactivated", await tenant.reactivate())
      })
    ])
  ])
}

/** Faults stop: everything due gets done. */
const settle = async ({ count, faults, fleet, journal, receiver, run, tenants }: Stage): Promise<void> => {
  receiver.heal()
  await fleet.untilAllWork()
  const deadline = Date.now() + SETTLE_MILLISECONDS
  for (;;) {
    for (const tenant of tenants) count("endpoints reactivated", await tenant.reactivate())
    await journal.hurry({ spares: false })
    await run(recordLostAttempts)
    const waiting = await journal.unsettled()
    if (waiting === 0) return
    if (Date.now() > deadline) {
      faults.push(`${waiting} deliveries are not done`)
      return
    }
    await pause(SETTLE_POLL_MILLISECONDS)
  }
}

const audit = (
  input: WebhookAuditInput,
  { plantsFaults }: WebhookSoakSettings,
  { count, faults }: Stage
): Pick<WebhookSoakResult, "checks" | "planted" | "faults"> => {
  const report = auditWebhooks(input)
  const { found, missed } = plantsFaults ? plantFaults(input) : { found: [], missed: [] }
  count("requests", input.requests.length)
  count("events", input.tables.events.length)
  count("attempts lost with their worker", report.lost.all)
  count("of these taken by the receiver", report.lost.taken)
  return {
    checks: report.counts,
    planted: { found: found.length, of: found.length + missed.length },
    faults: [...faults, ...report.faults, ...missed.map((name) => `the audit does not find ${name}`)]
  }
}

/** Everything up to the workers, which are started; `close` ends all of it. */
const openStage = async (
  { seed, workers }: WebhookSoakSettings,
  url: string
): Promise<Stage & { readonly random: SeededRandom; readonly close: () => Promise<void> }> => {
  const random = seededRandom(seed)
  const place: WebhookPlace = {
    url,
    schema: `webhook_soak_${randomBytes(6).toString("hex")}`,
    masterKey: randomBytes(MASTER_KEY_BYTES).toString("base64url")
  }
  const ports = Layer.mergeAll(webhookPorts(place, "run"), TimeZonesIntl.layer, harnessDeployment)
  const runtime = ManagedRuntime.make(ports)
  await runtime.context()
  const journal = await openWebhookJournal(place, LOST_AFTER)
  const receiver = await startWebhookReceiver(random.fork())
  const faults: Array<string> = []
  const fleet = startWebhookWorkers(place, workers, (fault) => faults.push(fault))
  const leave = () => {
    void fleet.end()
  }
  process.on("exit", leave)
  const counts = new Map<string, number>()
  const run: RunPrograms = (program) => runtime.runPromise(program)
  return {
    random,
    fleet,
    receiver,
    journal,
    tenants: [0, 1].map(() => newWebhookTenant(run, receiver, journal)),
    run,
    faults,
    counts,
    count: (name, times = 1) => {
      counts.set(name, (counts.get(name) ?? 0) + times)
    },
    close: async () => {
      process.off("exit", leave)
      await fleet.end()
      await receiver.end()
      await journal.close()
      await runtime.dispose()
    }
  }
}

/**
 * Kills processes that deliver webhooks, on the server at `url` and in a schema of their own, at random instants and at
 * those that matter, while events are recorded; then audits what receivers have seen and what the tables say.
 */
export const soakWebhooks = async (
  settings: WebhookSoakSettings,
  url: string
): Promise<WebhookSoakResult> => {
  const begun = Date.now()
  const stage = await openStage(settings, url)
  const { counts, fleet, journal, receiver, tenants } = stage
  try {
    await load(stage, settings, stage.random)
    await settle(stage)
    await fleet.end()
    const milliseconds = Date.now() - begun
    const endpoints = tenants.flatMap((tenant) => tenant.endpoints)
    const input = { endpoints, requests: receiver.requests, tables: await journal.tables() }
    return { milliseconds, kills: fleet.kills(), events: counts, ...audit(input, settings, stage) }
  } finally {
    await stage.close()
  }
}
