import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import { Deployment } from "@svc/domain/ports/Deployment"
import type { DueLeases } from "@svc/domain/ports/DueLeases"
import type { EventFeed } from "@svc/domain/ports/EventFeed"
import { IdentityVerifier } from "@svc/domain/ports/IdentityVerifier"
import type { MandateStore } from "@svc/domain/ports/MandateStore"
import type { Organizations } from "@svc/domain/ports/Organizations"
import { PasskeyVerifier } from "@svc/domain/ports/PasskeyVerifier"
import { Randomness } from "@svc/domain/ports/Randomness"
import { SecretSealer } from "@svc/domain/ports/SecretSealer"
import { Signer } from "@svc/domain/ports/Signer"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import type { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import type { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { TimeZones } from "@svc/domain/ports/TimeZones"
import type { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import { cleaningWorker } from "@svc/domain/workers/CleaningWorker"
import { dueWorker } from "@svc/domain/workers/DueWorker"
import { wakingStore } from "@svc/domain/workers/WakingStore"
import { WebhookWakeUp, webhookWorker } from "@svc/domain/workers/WebhookWorker"
import { IDLE_PAUSE_MILLISECONDS } from "@svc/domain/workers/WorkerPause"
import { Context, Effect, type Exit, Layer } from "effect"
import type { RarePaths } from "../RarePaths.ts"
import { type AppendMode, connectStore, type StoreFaultRates } from "../store/StoreConnection.ts"
import type { StoreServer } from "../store/StoreServer.ts"
import { Host } from "../time/Host.ts"
import { HOUR, MILLISECOND, type Micros, SECOND } from "../time/Micros.ts"
import type { SeededRandom } from "../time/SeededRandom.ts"
import type { SimulatedTime } from "../time/SimulatedTime.ts"
import { cheapIdentities, cheapPasskeys, cheapSealer, cheapSigner, type SigningKeys } from "./CheapCrypto.ts"
import { fixedZones } from "./FixedZones.ts"
import type { Receivers } from "./Receivers.ts"

/** Everything that programs and workers ask for. */
export type ServerPorts =
  | MandateStore
  | SubjectStore
  | Organizations
  | DueLeases
  | WebhookStore
  | EventFeed
  | StoreCleaning
  | TimeZones
  | Randomness
  | Deployment
  | Signer
  | SecretSealer
  | IdentityVerifier
  | PasskeyVerifier
  | WebhookTransport

const DEPLOYMENT = Deployment.of({
  environment: "test",
  baseUrl: "https://api.svc.test",
  approvalBaseUrl: "https://approve.svc.test",
  approvalOrigin: "https://approve.svc.test",
  rpId: "approve.svc.test",
  localhostReturnOrigins: false
})

/**
 * By how many parts in a million the monotonic clock goes faster of a process that was started so often: up to what is disciplined,
 * and far more.
 */
const DRIFTS = [500, 0, 50_000, -50_000, -500]

export interface ServerOptions {
  readonly time: SimulatedTime
  readonly server: StoreServer
  readonly random: SeededRandom
  readonly rare: RarePaths
  readonly receivers: Receivers
  readonly signingKeys: SigningKeys
  readonly rates: () => StoreFaultRates
  /** Told when a process has died. */
  readonly died: (process: ServerProcess) => void
}

/** What a response to a request may be; absent when the connection broke. */
export type Response<A, E> = Exit.Exit<A, E> | undefined

/** One server process with its workers, turns and caches. It can die, and is then started again as another. */
export class ServerProcess {
  readonly name: string
  readonly #appends: AppendMode
  readonly #hasWorkers: boolean
  readonly #options: ServerOptions
  #starts = 0
  #host: Host
  #context: Context.Context<ServerPorts>

  constructor(
    name: string,
    role: { readonly appends: AppendMode; readonly hasWorkers: boolean },
    options: ServerOptions
  ) {
    this.name = name
    this.#appends = role.appends
    this.#hasWorkers = role.hasWorkers
    this.#options = options
    this.#host = this.#newHost()
    this.#context = this.#start()
  }

  get host(): Host {
    return this.#host
  }

  #newHost(): Host {
    this.#starts += 1
    return new Host(`${this.name}.${this.#starts}`, this.#options.time, IDLE_PAUSE_MILLISECONDS)
  }

  #start(): Context.Context<ServerPorts> {
    const { random, rare, rates, receivers, server, signingKeys, time } = this.#options
    const host = this.#host
    host.clockOffset = random.pick([0, 0, 300 * MILLISECOND, -2 * SECOND, HOUR, -HOUR])
    host.drift = DRIFTS[this.#starts % DRIFTS.length]!
    const store: Context.Context<StoragePorts> = connectStore({
      time,
      server,
      host,
      random: random.fork(),
      rare,
      rates,
      appends: this.#appends,
      crash: () => this.kill()
    })
    const bytes = random.fork().bytes
    const ports = host
      .context()
      .pipe(
        Context.merge(store),
        Context.add(StreamTurns, makeTurns()),
        Context.add(WebhookWakeUp, WebhookWakeUp.defaultValue()),
        Context.add(Randomness, { bytes }),
        Context.add(Deployment, DEPLOYMENT),
        Context.add(TimeZones, fixedZones),
        Context.add(IdentityVerifier, cheapIdentities),
        Context.add(PasskeyVerifier, cheapPasskeys),
        Context.add(SecretSealer, cheapSealer),
        Context.add(Signer, cheapSigner({ host, keys: signingKeys, random: random.fork(), rare, time })),
        Context.add(WebhookTransport, receivers.transportOf(host))
      )
    const waking = Effect.runSync(Effect.provideContext(Effect.scoped(Layer.build(wakingStore)), ports))
    const context: Context.Context<ServerPorts> = Context.merge(ports, waking)
    if (this.#hasWorkers) {
      for (const worker of [dueWorker, webhookWorker, cleaningWorker]) Effect.runForkWith(context)(worker)
    }
    return context
  }

  /** Stops everything where it is. */
  kill(): void {
    if (!this.#host.isAlive) return
    this.#host.die()
    this.#options.died(this)
  }

  restart(): void {
    if (this.#host.isAlive) return
    this.#host = this.#newHost()
    this.#context = this.#start()
  }

  /**
   * Handles a request as an HTTP server does: a write goes on when its caller has gone, a read is given up. A process that
   * dies never responds.
   */
  handle<A, E>(
    program: Effect.Effect<A, E, ServerPorts>,
    options: { readonly isWrite: boolean; readonly leavesAfter?: Micros },
    respond: (exit: Exit.Exit<A, E>) => void
  ): void {
    const { time } = this.#options
    const run = options.isWrite ? Effect.uninterruptible(program) : program
    const fiber = Effect.runForkWith(this.#context)(run)
    fiber.addObserver(respond)
    if (options.leavesAfter !== undefined) {
      time.after(options.leavesAfter, `${this.#host.name} caller left`, this.#host, () =>
        fiber.interruptUnsafe()
      )
    }
  }
}
