import type { NetworkFaultRates } from "./actors/Client.ts"
import { NO_NETWORK_FAULTS } from "./actors/Client.ts"
import type { History } from "./History.ts"
import type { RarePaths } from "./RarePaths.ts"
import type { Receivers } from "./server/Receivers.ts"
import type { ServerProcess } from "./server/ServerProcess.ts"
import { NO_STORE_FAULTS, type StoreFaultRates } from "./store/StoreConnection.ts"
import type { StoreServer } from "./store/StoreServer.ts"
import { HOUR, MILLISECOND, MINUTE, SECOND } from "./time/Micros.ts"
import type { SeededRandom } from "./time/SeededRandom.ts"
import type { SimulatedTime } from "./time/SimulatedTime.ts"

/** Kinds of faults, each of which can be left out of a run. */
export const FAULT_KINDS = [
  "store connection",
  "network",
  "crashes",
  "pauses",
  "clocks",
  "failover",
  "lost tail",
  "receivers"
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

const STORE_FAULTS: ReadonlyArray<StoreFaultRates> = [
  NO_STORE_FAULTS,
  { requestLost: 0.005, answerLost: 0.01, carriedOutLate: 0.005, slow: 0.01, crashAtAppend: 0.004 },
  { requestLost: 0.02, answerLost: 0.03, carriedOutLate: 0.02, slow: 0.05, crashAtAppend: 0.01 },
  { requestLost: 0, answerLost: 0, carriedOutLate: 0, slow: 0.2, crashAtAppend: 0 }
]

const NETWORK_FAULTS: ReadonlyArray<NetworkFaultRates> = [
  NO_NETWORK_FAULTS,
  { requestLost: 0.005, responseLost: 0.01, deliveredTwice: 0.02, slow: 0.02, callerLeaves: 0.05 },
  { requestLost: 0.02, responseLost: 0.05, deliveredTwice: 0.05, slow: 0.1, callerLeaves: 0.1 }
]

/** Steps between two faults, about. */
const STEPS_PER_FAULT = 60

interface FaultOptions {
  readonly kinds: ReadonlySet<FaultKind>
  readonly time: SimulatedTime
  readonly random: SeededRandom
  readonly rare: RarePaths
  readonly history: History
  readonly server: () => StoreServer
  readonly processes: ReadonlyArray<ServerProcess>
  readonly receivers: Receivers
}

/** Breaks things as long as it is not stopped, and then sees that everything runs. */
export class Faults {
  isStopped = false
  #storeRates = NO_STORE_FAULTS
  #networkRates = NO_NETWORK_FAULTS
  #isFailingOver = false
  #pauses = 0
  readonly #options: FaultOptions
  readonly #faults: ReadonlyArray<readonly [kind: FaultKind, weight: number, begin: () => void]>

  constructor(options: FaultOptions) {
    this.#options = options
    this.#faults = [
      ["store connection", 4, () => this.#changeStoreRates()],
      ["network", 3, () => this.#changeNetworkRates()],
      ["crashes", 3, () => this.#crash()],
      ["pauses", 8, () => this.#pause()],
      ["clocks", 2, () => this.#stepClock()],
      ["failover", 1, () => this.#failOver(false)],
      ["lost tail", 1, () => this.#failOver(true)],
      ["receivers", 12, () => options.receivers.changeMood()]
    ]
  }

  get storeRates(): StoreFaultRates {
    return this.isStopped ? NO_STORE_FAULTS : this.#storeRates
  }

  get networkRates(): NetworkFaultRates {
    return this.isStopped ? NO_NETWORK_FAULTS : this.#networkRates
  }

  /** Breaks something, at times. Called after each step. */
  perhapsBegin(): void {
    const { kinds, random } = this.#options
    if (this.isStopped || !random.chance(1 / STEPS_PER_FAULT)) return
    let left = random.next() * this.#faults.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [kind, weight, begin] of this.#faults) {
      left -= weight
      if (left >= 0) continue
      if (kinds.has(kind)) begin()
      return
    }
  }

  stop(): void {
    this.isStopped = true
    const { history, processes, receivers, server } = this.#options
    history.add("", "no more faults")
    receivers.isCalm = true
    if (!server().isUp) server().failOver(false)
    for (const process of processes) {
      process.host.resume()
      process.restart()
    }
  }

  /** A process died: another is started in its place. */
  died(process: ServerProcess): void {
    const { history, random, rare, time } = this.#options
    rare.count("process killed")
    history.add("", `${process.host.name} dies`)
    time.after(
      random.pick([SECOND, 5 * SECOND, MINUTE]) - random.integer(0, 900_000),
      "restart",
      undefined,
      () => process.restart()
    )
  }

  #changeStoreRates(): void {
    this.#storeRates = this.#options.random.pick(STORE_FAULTS)
  }

  #changeNetworkRates(): void {
    this.#networkRates = this.#options.random.pick(NETWORK_FAULTS)
  }

  #crash(): void {
    const { processes, random } = this.#options
    random.pick(processes).kill()
  }

  #pause(): void {
    const { history, processes, random, rare } = this.#options
    const { host } = random.pick(processes)
    const lasts = random.pick([50 * MILLISECOND, SECOND, 7 * SECOND, 75 * SECOND, 2 * MINUTE])
    this.#pauses += 1
    const isSuspended = this.#pauses % 2 === 0
    host.pause(lasts, isSuspended)
    rare.count(isSuspended ? "machine suspended" : "process paused")
    history.add("", `${host.name} is ${isSuspended ? "suspended" : "paused"} for ${lasts / SECOND} s`)
  }

  #stepClock(): void {
    const { history, processes, random, rare, server } = this.#options
    rare.count("clock stepped")
    if (random.chance(0.5)) {
      const { host } = random.pick(processes)
      host.clockOffset += random.pick([-HOUR, HOUR, 2 * SECOND, -2 * SECOND])
      return
    }
    const step = random.pick([SECOND, -SECOND, 30 * SECOND, -30 * SECOND])
    server().clockOffset += step
    history.add("", `the store's clock is stepped by ${step / SECOND} s`)
  }

  /** The store fails; its replica takes over, which may lack what was recorded last. */
  #failOver(isTailLost: boolean): void {
    if (this.#isFailingOver) return
    this.#isFailingOver = true
    const { history, random, rare, server, time } = this.#options
    if (isTailLost) server().replicate()
    const lag = isTailLost ? random.integer(1, 2 * SECOND) : 1
    time.after(lag, "store fails", undefined, () => {
      if (this.isStopped) return
      server().isUp = false
      history.add("", "the store fails")
      time.after(random.integer(MILLISECOND, 8 * SECOND), "failover", undefined, () => {
        if (this.isStopped) return
        this.#isFailingOver = false
        rare.count(isTailLost ? "failover that loses the tail" : "failover that loses nothing")
        history.add("", isTailLost ? "a replica takes over without the tail" : "a replica takes over")
        server().failOver(isTailLost)
      })
    })
  }
}
