import { type Cause, Effect, Exit } from "effect"
import type { Findings } from "../audit/Findings.ts"
import type { History } from "../History.ts"
import type { RarePaths } from "../RarePaths.ts"
import type { ServerPorts, ServerProcess } from "../server/ServerProcess.ts"
import type { Host } from "../time/Host.ts"
import { MILLISECOND, type Micros, SECOND } from "../time/Micros.ts"
import type { SeededRandom } from "../time/SeededRandom.ts"
import type { SimulatedTime } from "../time/SimulatedTime.ts"

/** The outcome of a request as its caller sees it. */
export type Outcome<A> =
  | { readonly _tag: "Done"; readonly value: A }
  | { readonly _tag: "Refused"; readonly refusal: { readonly _tag: string } }
  /** No response, or one that does not say whether anything was done. */
  | { readonly _tag: "Unknown" }

const UNKNOWN = { _tag: "Unknown" } as const
/** Longest that a caller waits for a response. */
const CALLER_PATIENCE: Micros = 30 * SECOND
/** How often a caller sends a write again under its key. */
const TRIES = 6

export interface NetworkFaultRates {
  readonly requestLost: number
  readonly responseLost: number
  readonly deliveredTwice: number
  readonly slow: number
  readonly callerLeaves: number
}

export const NO_NETWORK_FAULTS: NetworkFaultRates = {
  requestLost: 0,
  responseLost: 0,
  deliveredTwice: 0,
  slow: 0,
  callerLeaves: 0
}

interface ClientOptions {
  readonly time: SimulatedTime
  readonly random: SeededRandom
  readonly rare: RarePaths
  readonly history: History
  readonly findings: Findings
  readonly processes: ReadonlyArray<ServerProcess>
  /** Where callers, users and browsers are. */
  readonly host: Host
  readonly rates: () => NetworkFaultRates
  /** Whether a change may turn out not to follow what is recorded, as after a lost tail. */
  readonly mayBreak: () => boolean
}

export interface Request<A, E> {
  /** In words, for the history. */
  readonly what: string
  /** What it is about: a mandate, an endpoint. */
  readonly about: string
  readonly isWrite: boolean
  readonly program: Effect.Effect<A, E, ServerPorts>
}

/** How callers and browsers reach the server processes: over a network that loses, delays and repeats. */
export class Client {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  sleep(lasts: Micros): Effect.Effect<void> {
    const { host, time } = this.#options
    return Effect.callback<void>((resume) => {
      time.after(Math.max(1, Math.floor(lasts)), "actor", host, () => resume(Effect.void))
    })
  }

  /** Sends a request once. */
  ask<A, E extends { readonly _tag: string }>(request: Request<A, E>): Effect.Effect<Outcome<A>> {
    const { history, host, random, rare, rates, time } = this.#options
    return Effect.callback<Outcome<A>>((resume) => {
      let isAnswered = false
      const answer = (outcome: Outcome<A>) => {
        if (isAnswered) return
        isAnswered = true
        patience.isCancelled = true
        history.add(request.about, `${request.what}: ${inWords(outcome)}`)
        resume(Effect.succeed(outcome))
      }
      const patience = time.after(CALLER_PATIENCE, "caller gives up", host, () => answer(UNKNOWN))
      const respond = (exit: Exit.Exit<A, E>) => {
        if (random.chance(rates().responseLost)) return
        time.after(this.#delay(), "response", host, () => answer(this.#outcomeOf(request, exit)))
      }
      const broken = () => {
        if (!isAnswered) time.after(this.#delay(), "connection broke", host, () => answer(UNKNOWN))
      }
      if (!random.chance(rates().requestLost)) this.#deliver(request, respond, broken)
      if (request.isWrite && random.chance(rates().deliveredTwice)) {
        rare.count("request delivered twice")
        this.#deliver(request, respond, () => undefined)
      }
    })
  }

  /** Sends a write again, under the same key, until its outcome is known or the caller gives up. */
  write<A, E extends { readonly _tag: string }>(request: Request<A, E>): Effect.Effect<Outcome<A>> {
    const attempt = (tries: number): Effect.Effect<Outcome<A>> =>
      Effect.flatMap(this.ask(request), (outcome) =>
        outcome._tag !== "Unknown" || tries >= TRIES
          ? Effect.succeed(outcome)
          : Effect.andThen(
              this.sleep(this.#options.random.integer(10 * MILLISECOND, 2 * SECOND)),
              attempt(tries + 1)
            )
      )
    return attempt(1)
  }

  #delay(): Micros {
    const { random, rates } = this.#options
    return random.chance(rates().slow)
      ? random.integer(20 * MILLISECOND, 8 * SECOND)
      : random.integer(100, 3 * MILLISECOND)
  }

  #deliver<A, E>(
    { isWrite, program }: Request<A, E>,
    respond: (exit: Exit.Exit<A, E>) => void,
    broken: () => void
  ): void {
    const { processes, random, rates, time } = this.#options
    // Whoever balances load has mostly seen that a process is dead.
    const first = random.pick(processes)
    const process = first.host.isAlive || random.chance(0.2) ? first : random.pick(processes)
    const { host } = process
    if (!host.isAlive) {
      broken()
      return
    }
    const leaves = !isWrite && random.chance(rates().callerLeaves)
    const forget = host.whenDead(broken)
    time.after(this.#delay(), "request", host, () => {
      const leavesAfter = leaves ? { leavesAfter: random.integer(1, 4 * MILLISECOND) } : {}
      process.handle(program, { isWrite, ...leavesAfter }, (exit) => {
        forget()
        respond(exit)
      })
    })
  }

  #outcomeOf<A, E>(request: Request<A, E>, exit: Exit.Exit<A, E>): Outcome<A> {
    if (Exit.isSuccess(exit)) return { _tag: "Done", value: exit.value }
    const { findings, mayBreak } = this.#options
    const refusal = refusalOf(exit.cause)
    if (refusal !== undefined) return isUnknown(refusal) ? UNKNOWN : { _tag: "Refused", refusal }
    const isExplained = exit.cause.reasons.every(({ _tag }) => _tag === "Interrupt") || mayBreak()
    findings.check(
      "requests end without a defect",
      isExplained,
      `${request.about}: ${request.what}: ${exit.cause}`
    )
    return UNKNOWN
  }
}

const refusalOf = <E>(cause: Cause.Cause<E>): { readonly _tag: string } | undefined => {
  for (const reason of cause.reasons) {
    if (reason._tag === "Fail") return reason.error as unknown as { readonly _tag: string }
  }
  return undefined
}

const isUnknown = ({ _tag }: { readonly _tag: string }): boolean =>
  _tag === "StoreUnavailable" || _tag === "SignerUnavailable" || _tag === "IdentityKeysUnavailable"

const inWords = (outcome: Outcome<unknown>): string => {
  if (outcome._tag === "Refused") return outcome.refusal._tag
  return outcome._tag === "Done" ? "done" : "no answer"
}
