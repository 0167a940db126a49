import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EventFeed } from "@svc/domain/ports/EventFeed"
import {
  type LoadQuery,
  MandateStore,
  type StoreUnavailable,
  type StreamChange
} from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { makeLanes } from "@svc/store-postgres/append/AppendLanes"
import { Context, Effect, Exit, identity, Scope } from "effect"
import type { RarePaths } from "../RarePaths.ts"
import type { Host } from "../time/Host.ts"
import { MILLISECOND, type Micros, SECOND } from "../time/Micros.ts"
import type { SeededRandom } from "../time/SeededRandom.ts"
import type { SimulatedTime } from "../time/SimulatedTime.ts"
import { type StorePorts, type StoreServer, unavailable } from "./StoreServer.ts"

/** How often something goes wrong on the way to the store and back, as probabilities. */
export interface StoreFaultRates {
  /** The statement never arrives. */
  readonly requestLost: number
  /** The statement is carried out, and its answer is lost. */
  readonly answerLost: number
  /** The connection breaks first, and the statement is carried out later all the same. */
  readonly carriedOutLate: number
  /** Takes up to seconds instead of about a millisecond. */
  readonly slow: number
  /** The process dies just before the store carries out its append, or just after. */
  readonly crashAtAppend: number
}

export const NO_STORE_FAULTS: StoreFaultRates = {
  requestLost: 0,
  answerLost: 0,
  carriedOutLate: 0,
  slow: 0,
  crashAtAppend: 0
}

/** How a process appends: each change by itself, or as the Postgres store does, in lanes that share statements. */
export type AppendMode = "one by one" | "lanes"

/** Longest time that a connection is slow. */
const LONGEST_DELAY: Micros = 12 * SECOND
const LANES = { lanes: 1, changes: 64 }
/** Longest time that a statement of a lane takes to be committed. */
const LONGEST_COMMIT: Micros = 8 * MILLISECOND
/** How often another session has locked a stream that a shared statement is to append to. */
const LOCKED = 0.05

export interface ConnectionOptions {
  readonly time: SimulatedTime
  readonly server: StoreServer
  readonly host: Host
  readonly random: SeededRandom
  readonly rare: RarePaths
  /** As they are now. */
  readonly rates: () => StoreFaultRates
  readonly appends: AppendMode
  readonly crash: (host: Host) => void
}

/** The storage ports of one process: each call travels to the store, is carried out there at once, and its answer travels back. */
export const connectStore = (options: ConnectionOptions): Context.Context<StoragePorts> => {
  const { crash, host, random, rare, rates, server, time } = options

  const delay = (): Micros =>
    random.chance(rates().slow)
      ? random.pick([50 * MILLISECOND, SECOND, 6 * SECOND, LONGEST_DELAY]) - random.integer(0, 40_000)
      : random.integer(100, 2 * MILLISECOND)

  const travel = <A, E>(
    what: string,
    carryOut: () => Exit.Exit<A, E>,
    around?: { readonly before: () => void; readonly after: () => void; readonly commit?: Micros }
  ): Effect.Effect<A, E | StoreUnavailable> => {
    const [request, answer] = [`${what} at the store`, `${host.name} ${what}`]
    return Effect.callback<A, E | StoreUnavailable>((resume) => {
      const { generation, isUp } = server
      const respond = (exit: Exit.Exit<A, E | StoreUnavailable>, after: Micros) =>
        time.after(after, answer, host, () => resume(exit))
      if (!isUp) {
        respond(unavailable("the store is down"), random.integer(100, 50 * MILLISECOND))
        return
      }
      const { answerLost, carriedOutLate, requestLost } = rates()
      if (random.chance(requestLost)) {
        rare.count("request lost")
        respond(unavailable("the request was lost"), delay())
        return
      }
      const isLate = random.chance(carriedOutLate)
      if (isLate) {
        rare.count("carried out after its connection broke")
        respond(unavailable("the connection broke"), delay())
      }
      const isAnswerLost = !isLate && random.chance(answerLost)
      time.after(isLate ? delay() + delay() : delay(), request, undefined, () => {
        if (!server.isUp || server.generation !== generation) {
          if (!isLate) respond(unavailable("the store failed over"), random.integer(100, MILLISECOND))
          return
        }
        around?.before()
        const exit = carryOut()
        around?.after()
        if (isLate) return
        if (isAnswerLost) rare.count("answer lost")
        respond(isAnswerLost ? unavailable("the answer was lost") : exit, delay() + (around?.commit ?? 0))
      })
    })
  }

  const plain =
    <Query, A, E>(what: string, operation: (ports: StorePorts) => (query: Query) => Effect.Effect<A, E>) =>
    (query: Query) =>
      travel(what, () => server.run((ports) => operation(ports)(query)))

  /** The revision at which this process loaded each mandate last. */
  const loadedAt = new Map<string, number>()
  const loadPlainly = plain("load", ({ mandates }) => mandates.load)
  const load = (query: LoadQuery) =>
    Effect.tap(loadPlainly(query), ({ stream }) =>
      Effect.sync(() => {
        if (stream !== undefined) loadedAt.set(stream.state.mandate.terms.mandate_id, stream.revision)
      })
    )
  const countKnown = (
    { expected, mandate }: StreamChange,
    exit: Exit.Exit<unknown, { readonly _tag: string }>
  ) => {
    if (expected === "absent" || loadedAt.get(mandate) === expected) return
    if (Exit.isSuccess(exit)) rare.count("decided without a load")
    else rare.count("decided without a load, and refused")
  }

  const perhapsCrash = () => {
    const crashes = random.chance(rates().crashAtAppend)
    const isBefore = random.chance(0.5)
    const now = (name: "crash before append" | "crash after append") => {
      if (!host.isAlive) return
      rare.count(name)
      crash(host)
    }
    return {
      ...(options.appends === "lanes" ? { commit: random.integer(0, LONGEST_COMMIT) } : {}),
      before: () => {
        if (crashes && isBefore) now("crash before append")
      },
      after: () => {
        if (crashes && !isBefore) now("crash after append")
      }
    }
  }

  const alone = (change: StreamChange) => travel("append", () => server.append(change), perhapsCrash())
  const together = (changes: ReadonlyArray<StreamChange>) => {
    rare.count("shared statement")
    const carryOut = () => Exit.succeed(server.appendTogether(changes, () => random.chance(LOCKED)))
    return travel("appends", carryOut, perhapsCrash())
  }
  const append =
    options.appends === "lanes"
      ? Effect.runSync(
          Effect.provideService(
            makeLanes(LANES, { write: identity, alone, together }),
            Scope.Scope,
            Scope.makeUnsafe()
          )
        )
      : alone

  return Context.make(MandateStore, {
    load,
    append: (change) => Effect.onExit(append(change), (exit) => Effect.sync(() => countKnown(change, exit))),
    listMandates: plain("list mandates", ({ mandates }) => mandates.listMandates),
    listAuthorizations: plain("list authorizations", ({ mandates }) => mandates.listAuthorizations),
    journal: plain("journal", ({ mandates }) => mandates.journal)
  }).pipe(
    Context.add(EventFeed, { read: plain("feed", ({ feed }) => feed.read) }),
    Context.add(SubjectStore, {
      load: plain("load subject", ({ subjects }) => subjects.load),
      replace: (change) => travel("replace subject", () => server.replaceSubject(change))
    }),
    Context.add(Organizations, {
      find: plain("find organization", ({ organizations }) => organizations.find),
      findApiKey: plain("find key", ({ organizations }) => organizations.findApiKey),
      listApiKeys: plain("list keys", ({ organizations }) => organizations.listApiKeys),
      recordApiKeyUse: plain("use key", ({ organizations }) => organizations.recordApiKeyUse),
      put: plain("put organization", ({ organizations }) => organizations.put),
      putApiKey: plain("put key", ({ organizations }) => organizations.putApiKey)
    }),
    Context.add(DueLeases, {
      take: plain("lease due", ({ dueLeases }) => dueLeases.take),
      release: plain("release due", ({ dueLeases }) => dueLeases.release)
    }),
    Context.add(WebhookStore, {
      loadEndpoint: plain("load endpoint", ({ webhooks }) => webhooks.loadEndpoint),
      listEndpoints: plain("list endpoints", ({ webhooks }) => webhooks.listEndpoints),
      changeEndpoint: (change) => travel("change endpoint", () => server.changeEndpoint(change)),
      loadDelivery: plain("load delivery", ({ webhooks }) => webhooks.loadDelivery),
      listDeliveries: plain("list deliveries", ({ webhooks }) => webhooks.listDeliveries),
      addDelivery: (addition) => travel("add delivery", () => server.addDelivery(addition)),
      leaseDue: (query) => travel("lease deliveries", () => server.leaseDue(query)),
      expiredAttempts: plain("expired attempts", ({ webhooks }) => webhooks.expiredAttempts),
      recordAttempts: (ended) => travel("record attempts", () => server.recordAttempts(ended)),
      reload: plain("reload", ({ webhooks }) => webhooks.reload)
    }),
    Context.add(StoreCleaning, { clean: plain("clean", ({ cleaning }) => cleaning.clean) }),
    Context.add(StoreHealth, { faults: Effect.succeed([]) })
  )
}
