import { HOUR, type Micros, SECOND } from "./Micros.ts"
import type { SeededRandom } from "./SeededRandom.ts"
import type { Trace } from "./Trace.ts"

/** Where something happens. */
export interface Machine {
  readonly isAlive: boolean
  readonly pausedUntil: Micros
}

/** Something that will happen. */
export interface Timer {
  at: Micros
  /** Decides which of those at one instant comes first. */
  tie: number
  readonly label: string
  /** Where it happens; it does not happen if that host is dead by then, and waits while it is paused. */
  readonly host: Machine | undefined
  readonly run: () => void
  /** Whether it ends an idle pause of a worker, which lasts for as long as there is nothing to do. */
  isIdle: boolean
  isCancelled: boolean
}

/** Longest that a worker pauses, and how much later than another it may look. */
const LONGEST_PAUSE: Micros = 6 * HOUR
const LATEST_LOOK: Micros = SECOND

/** Tasks that may run without anything happening in between; more mean that a fiber spins. */
const MAX_TASKS_IN_A_ROW = 1_000_000

/**
 * The one source of time and order of a simulation. It holds what will happen as timers, and fibers that can go on as tasks,
 * and runs them one at a time: all tasks first, in an order that the seed decides, then the next timer. No real time passes.
 */
export class SimulatedTime {
  now: Micros
  steps = 0
  readonly #heap: Array<Timer> = []
  /** Ends of idle pauses that have been put off. */
  #parked: Array<Timer> = []
  readonly #tasks: Array<{ readonly host: Machine; readonly run: () => void }> = []
  readonly #random: SeededRandom
  readonly #trace: Trace
  readonly #workAt: () => Micros

  /** `workAt` says when there will be something to do for workers. */
  constructor(start: Micros, random: SeededRandom, trace: Trace, workAt: () => Micros) {
    this.now = start
    this.#workAt = workAt
    this.#random = random
    this.#trace = trace
  }

  after(delay: Micros, label: string, host: Machine | undefined, run: () => void): Timer {
    return this.#schedule({
      at: this.now + delay,
      tie: 0,
      label,
      host,
      run,
      isIdle: false,
      isCancelled: false
    })
  }

  /** As {@link after}, but the pause lasts for as long as there is nothing to do for workers. */
  idle(delay: Micros, label: string, host: Machine, run: () => void): Timer {
    return this.#schedule({
      at: this.now + delay,
      tie: 0,
      label,
      host,
      run,
      isIdle: true,
      isCancelled: false
    })
  }

  ready(host: Machine, run: () => void): void {
    this.#tasks.push({ host, run })
  }

  /** One step: the next timer, and everything that it leads to without time passing. `false` once nothing is left. */
  step(): boolean {
    this.#runTasks()
    for (;;) {
      const next = this.#heap[0]
      if (this.#parked.length > 0 && (next === undefined || this.#workAt() <= next.at)) {
        this.#endPauses()
        continue
      }
      const timer = this.#pop()
      if (timer === undefined) return false
      if (timer.isCancelled || timer.host?.isAlive === false || this.#isPutOff(timer)) continue
      this.now = Math.max(this.now, timer.at)
      this.steps += 1
      this.#trace.add(timer.label, this.now)
      timer.run()
      this.#runTasks()
      return true
    }
  }

  /** Whether something does not happen yet: its host is paused, or it would only end an idle pause. */
  #isPutOff(timer: Timer): boolean {
    const { at, host, isIdle } = timer
    if (host !== undefined && host.pausedUntil > at) {
      timer.at = host.pausedUntil
      this.#schedule(timer)
      return true
    }
    if (!isIdle || this.#workAt() <= at) return false
    this.#parked.push(timer)
    return true
  }

  /** There is something to do: workers that have paused look, one sooner and one later. */
  #endPauses(): void {
    const from = Math.min(this.#workAt(), this.now + LONGEST_PAUSE)
    for (const timer of this.#parked) {
      timer.isIdle = false
      timer.at = Math.max(timer.at, from) + this.#random.integer(0, LATEST_LOOK)
      this.#schedule(timer)
    }
    this.#parked = []
  }

  #runTasks(): void {
    const tasks = this.#tasks
    for (let count = 0; tasks.length > 0; count++) {
      if (count > MAX_TASKS_IN_A_ROW) throw new Error("a fiber spins without waiting for anything")
      const at = tasks.length === 1 ? 0 : this.#random.integer(0, tasks.length - 1)
      const task = tasks[at]!
      const last = tasks.pop()!
      if (at < tasks.length) tasks[at] = last
      if (!task.host.isAlive) continue
      if (task.host.pausedUntil > this.now) {
        this.#schedule({
          at: task.host.pausedUntil,
          tie: 0,
          label: "goes on",
          host: task.host,
          run: task.run,
          isIdle: false,
          isCancelled: false
        })
      } else task.run()
    }
  }

  #schedule(timer: Timer): Timer {
    timer.tie = this.#random.next()
    const heap = this.#heap
    let at = heap.length
    heap.push(timer)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (isBefore(heap[parent]!, timer)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = timer
    return timer
  }

  #pop(): Timer | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1
      if (isBefore(last, heap[child]!)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }
}

const isBefore = (one: Timer, other: Timer): boolean =>
  one.at < other.at || (one.at === other.at && one.tie < other.tie)
