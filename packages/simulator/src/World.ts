import { formatIdentifier } from "@svc/protocol/Identifier"
import { Effect } from "effect"
import type { Stage } from "./actors/Actor.ts"
import { approver } from "./actors/Approver.ts"
import { caller } from "./actors/Caller.ts"
import { Client } from "./actors/Client.ts"
import { endpointOwner, reactivateSoon } from "./actors/EndpointOwner.ts"
import { newTenant, type Tenant } from "./actors/Tenant.ts"
import type { Finding } from "./audit/Findings.ts"
import { WorldAudit } from "./audit/WorldAudit.ts"
import { type FaultKind, Faults } from "./Faults.ts"
import { History } from "./History.ts"
import { RarePaths } from "./RarePaths.ts"
import { SigningKeys } from "./server/CheapCrypto.ts"
import { Receivers } from "./server/Receivers.ts"
import { ServerProcess } from "./server/ServerProcess.ts"
import type { AppendMode } from "./store/StoreConnection.ts"
import { StoreServer } from "./store/StoreServer.ts"
import { Host } from "./time/Host.ts"
import { DAY, HOUR, type Micros, SECOND } from "./time/Micros.ts"
import { type SeededRandom, seededRandom } from "./time/SeededRandom.ts"
import { SimulatedTime } from "./time/SimulatedTime.ts"
import { Trace } from "./time/Trace.ts"

/** How large a world is, and what may break in it. */
export interface WorldShape {
  readonly seed: number
  readonly organizations: number
  readonly processes: number
  /** Per organization. */
  readonly callers: number
  readonly mandates: number
  readonly appends: AppendMode
  readonly faults: ReadonlyArray<FaultKind>
  /** Steps until the faults stop. */
  readonly steps: number
}

/** How a world ended. */
export interface WorldReport {
  readonly steps: number
  readonly checks: number
  readonly trace: string
  /** How long it lasted, in simulated seconds. */
  readonly seconds: number
  readonly rare: RarePaths["counts"]
  readonly finding?: Finding
  /** The last that happened to what the finding is about. */
  readonly history: ReadonlyArray<string>
}

/** Steps within which everything must come to rest once the faults have stopped. */
const STEPS_TO_SETTLE = 15_000
/** Steps between two quiet times, about, and the longest that one lasts. */
const STEPS_PER_DAY = 400
const LONGEST_QUIET: Micros = 3 * DAY
/** Lines of a history that are shown. */
const HISTORY_LINES = 40

/** When worlds begin: an ordinary day, the ends of months and years, the days on which clocks change. */
const STARTS: ReadonlyArray<Micros> = [
  "2026-12-01T08:00:00Z",
  "2026-12-31T22:30:00Z",
  "2027-03-27T23:00:00Z",
  "2027-10-30T22:30:00Z",
  "2028-02-28T20:00:00Z"
].map((text) => Date.parse(text) * 1000)

/** One world: a store, server processes, organizations with callers, users and receivers, and faults. */
export class World {
  readonly #shape: WorldShape
  readonly #random: SeededRandom
  readonly #trace = new Trace()
  readonly #start: Micros
  readonly #time: SimulatedTime
  readonly #rare = new RarePaths()
  readonly #history: History
  readonly #server: StoreServer
  readonly #audit: WorldAudit
  readonly #receivers: Receivers
  readonly #processes: ReadonlyArray<ServerProcess>
  readonly #faults: Faults
  readonly #actors: Host
  #quietUntil: Micros = 0

  constructor(shape: WorldShape) {
    this.#shape = shape
    const random = seededRandom(shape.seed)
    this.#random = random
    this.#start = random.pick(STARTS)
    const time = new SimulatedTime(this.#start, random.fork(), this.#trace, () => this.#dueAt)
    this.#time = time
    this.#history = new History(time)
    const server = () => this.#server
    this.#audit = new WorldAudit(this.#rare, server)
    this.#server = new StoreServer(time, this.#audit)
    this.#receivers = new Receivers({
      audit: this.#audit.deliveries,
      rare: this.#rare,
      random: random.fork(),
      time
    })
    this.#actors = new Host("actors", time)
    const signingKeys = new SigningKeys()
    this.#processes = Array.from(
      { length: shape.processes },
      (_, at) =>
        new ServerProcess(
          `server ${at + 1}`,
          { appends: shape.appends, hasWorkers: at < 2 },
          {
            time,
            server: this.#server,
            random: random.fork(),
            rare: this.#rare,
            receivers: this.#receivers,
            signingKeys,
            rates: () => this.#faults.storeRates,
            died: (process) => this.#faults.died(process)
          }
        )
    )
    this.#faults = new Faults({
      kinds: new Set(shape.faults),
      time,
      random: random.fork(),
      rare: this.#rare,
      history: this.#history,
      server,
      processes: this.#processes,
      receivers: this.#receivers
    })
    this.#begin(signingKeys)
  }

  /** When workers have something to do, in simulated time. */
  get #dueAt(): Micros {
    const { deliveries, mandates } = this.#audit
    return Math.min(mandates.dueAt, deliveries.dueAt) - this.#server.clockOffset
  }

  #begin(signingKeys: SigningKeys): void {
    const { callers, mandates, organizations } = this.#shape
    for (let number = 1; number <= organizations; number++) {
      const id = formatIdentifier("org_", number, this.#random.bytes(10))
      const tenant = newTenant(id, number, mandates)
      this.#server.run((ports) => ports.organizations.put(tenant.organization))
      this.#watchEndpoints(tenant, signingKeys)
      const roles = [
        ...Array.from({ length: callers }, () => caller),
        approver,
        approver,
        approver,
        endpointOwner
      ]
      for (const role of roles) {
        const stage = this.#stageOf(tenant, signingKeys)
        Effect.runForkWith(this.#actors.context())(role(stage)).addObserver((exit) => {
          const isRight = exit._tag === "Success"
          this.#audit.findings.check("actors do not fail", isRight, `${id}: ${String(exit)}`)
        })
      }
    }
  }

  /** At times an owner acts as soon as an endpoint is disabled, with attempts still under way. */
  #watchEndpoints(tenant: Tenant, signingKeys: SigningKeys): void {
    const { deliveries } = this.#audit
    const others = deliveries.whenDisabled
    const stage = this.#stageOf(tenant, signingKeys)
    deliveries.whenDisabled = (organization, endpoint) => {
      others?.(organization, endpoint)
      if (organization !== tenant.organization.id || stage.isOver() || !stage.random.chance(0.7)) return
      Effect.runForkWith(this.#actors.context())(reactivateSoon(stage, endpoint))
    }
  }

  #stageOf(tenant: Tenant, signingKeys: SigningKeys): Stage {
    const random = this.#random.fork()
    const client = new Client({
      time: this.#time,
      random,
      rare: this.#rare,
      history: this.#history,
      findings: this.#audit.findings,
      processes: this.#processes,
      host: this.#actors,
      rates: () => this.#faults.networkRates,
      mayBreak: () => this.#audit.mandates.losses > 0
    })
    return {
      time: this.#time,
      random,
      rare: this.#rare,
      audit: this.#audit,
      client,
      tenant,
      signingKeys,
      isOver: () => this.#faults.isStopped,
      quietUntil: () => this.#quietUntil
    }
  }

  /** Runs until something is found broken or everything has come to rest. */
  run(): WorldReport {
    while (this.#time.steps < this.#shape.steps && this.#isSound && this.#time.step()) {
      this.#faults.perhapsBegin()
      if (this.#random.chance(1 / STEPS_PER_DAY)) this.#becomeQuiet()
    }
    if (this.#isSound) this.#settle()
    const [finding] = this.#audit.findings.broken
    return {
      steps: this.#time.steps,
      checks: this.#audit.findings.checks,
      trace: this.#trace.hash,
      seconds: Math.round((this.#time.now - this.#start) / SECOND),
      rare: this.#rare.counts,
      ...(finding === undefined ? {} : { finding }),
      history: finding === undefined ? [] : this.#history.about(finding.about, HISTORY_LINES)
    }
  }

  /** Nobody asks for anything until shortly before something is due, or a day ends somewhere. */
  #becomeQuiet(): void {
    const { now } = this.#time
    const random = this.#random
    const midnight = Math.ceil(now / DAY) * DAY - random.pick([0, 0, HOUR, 2 * HOUR])
    const dues = [...this.#audit.mandates.organizations.keys()].map((id) => this.#audit.mandates.dueAtOf(id))
    const due = random.pick([midnight, ...dues])
    const isSoon = due > now && due < now + LONGEST_QUIET
    this.#quietUntil =
      (isSoon ? due : now + random.pick([HOUR, 8 * HOUR, DAY])) - random.integer(1, 4) * SECOND
    this.#history.add("", `nobody does anything until ${new Date(this.#quietUntil / 1000).toISOString()}`)
  }

  get #isSound(): boolean {
    return this.#audit.findings.broken.length === 0
  }

  /** After the faults: what is due must be recorded, and every delivery must end. */
  #settle(): void {
    this.#actors.isAlive = false
    this.#faults.stop()
    const last = this.#time.steps + STEPS_TO_SETTLE
    while (this.#isSound && this.#time.steps < last && !this.#isSettled && this.#time.step()) {}
    if (!this.#isSound) return
    this.#audit.mandates.checkSettled()
    this.#audit.deliveries.checkSettled()
  }

  get #isSettled(): boolean {
    const { deliveries, mandates } = this.#audit
    return !deliveries.hasUnended && mandates.dueAt > Number(this.#server.clock / 1000n)
  }
}
