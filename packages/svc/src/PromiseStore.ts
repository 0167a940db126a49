import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EventFeed, PositionRefused } from "@svc/domain/ports/EventFeed"
import { ClaimTaken, MandateStore, OutOfTime, Stale, StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { EndpointLimitReached, WebhookStore } from "@svc/domain/ports/WebhookStore"
import { Context, Effect, Layer } from "effect"

/** A port whose operations return promises, or values. They reject with the refusals of the port, and with nothing else. */
export type Promised<Port> = {
  readonly [Name in keyof Port]: Port[Name] extends (
    ...input: infer Input
  ) => Effect.Effect<infer Output, infer _>
    ? (...input: Input) => Promise<Output> | Output
    : Port[Name] extends Effect.Effect<infer Output, infer _>
      ? () => Promise<Output> | Output
      : never
}

/**
 * A store of one's own, with promises. Each part is a port, whose documentation says what its operations do; an operation that
 * is refused rejects with the port's own error, such as `new Stale()`, and one that cannot be done now with
 * `new StoreUnavailable({ cause })`. Any other rejection is taken for a fault of the store's program. What operations are given
 * and what they return is plain data, which may be copied with `structuredClone` or sent to another thread.
 */
export interface PromiseStore {
  readonly mandates: Promised<MandateStore["Service"]>
  readonly subjects: Promised<SubjectStore["Service"]>
  readonly due: Promised<DueLeases["Service"]>
  readonly feed: Promised<EventFeed["Service"]>
  readonly webhooks: Promised<WebhookStore["Service"]>
  readonly organizations: Promised<Organizations["Service"]>
  /** Default: nothing is ever removed. */
  readonly cleaning?: Promised<StoreCleaning["Service"]>
  /** Default: no fault is ever found. */
  readonly health?: Promised<StoreHealth["Service"]>
}

const REFUSALS = [StoreUnavailable, Stale, OutOfTime, ClaimTaken, PositionRefused, EndpointLimitReached]

/** What was begun is waited for: an interrupted write may have been recorded. */
const called = (operation: () => unknown): Effect.Effect<unknown, unknown> =>
  Effect.uninterruptible(
    Effect.catch(
      Effect.tryPromise({ try: async () => operation(), catch: (error) => error }),
      (error): Effect.Effect<never, unknown> =>
        REFUSALS.some((refusal) => error instanceof refusal) ? Effect.fail(error) : Effect.die(error)
    )
  )

/** The operations of each port. */
const OPERATIONS: Readonly<Record<keyof PromiseStore, ReadonlyArray<string>>> = {
  mandates: ["load", "append", "listMandates", "listAuthorizations", "journal"],
  subjects: ["load", "replace"],
  due: ["take", "release"],
  feed: ["read"],
  webhooks: [
    "loadEndpoint",
    "listEndpoints",
    "changeEndpoint",
    "loadDelivery",
    "listDeliveries",
    "addDelivery",
    "leaseDue",
    "expiredAttempts",
    "recordAttempts",
    "reload"
  ],
  organizations: ["find", "findApiKey", "listApiKeys", "recordApiKeyUse", "put", "putApiKey"],
  cleaning: ["clean"],
  health: ["faults"]
}

type Operations = Readonly<Record<string, ((...input: ReadonlyArray<unknown>) => unknown) | undefined>>

/** A port as the programs call it. Operations are looked up at each call, so a part may be an object of a class, too. */
const portOf = <Port>(part: keyof PromiseStore, given: object): Port => {
  const operations = given as Operations
  return Object.fromEntries(
    OPERATIONS[part].map((name) => {
      if (typeof operations[name] !== "function") throw new TypeError(`the store has no ${part}.${name}()`)
      return [name, (...input: ReadonlyArray<unknown>) => called(() => operations[name]?.(...input))]
    })
  ) as Port
}

/** The ports that a store brings. */
export const portsBroughtBy = (store: Partial<PromiseStore>): Context.Context<StoragePorts> => {
  const { cleaning, due, feed, health, mandates, organizations, subjects, webhooks } = store
  const add = <Identifier, Port>(
    tag: Context.Key<Identifier, Port>,
    part: keyof PromiseStore,
    given?: object
  ) => (given === undefined ? Context.empty() : Context.make(tag, portOf<Port>(part, given)))
  const asked =
    health && portOf<{ readonly faults: () => StoreHealth["Service"]["faults"] }>("health", health)
  return Context.mergeAll(
    add(MandateStore, "mandates", mandates),
    add(SubjectStore, "subjects", subjects),
    add(DueLeases, "due", due),
    add(EventFeed, "feed", feed),
    add(WebhookStore, "webhooks", webhooks),
    add(Organizations, "organizations", organizations),
    add(StoreCleaning, "cleaning", cleaning),
    asked === undefined
      ? Context.empty()
      : Context.make(StoreHealth, { faults: Effect.suspend(() => asked.faults()) })
  ) as Context.Context<StoragePorts>
}

const REQUIRED = ["mandates", "subjects", "due", "feed", "webhooks", "organizations"] as const

/** What a service does with a store that never removes anything, and finds no fault with itself. */
const DEFAULTS = Context.make(StoreCleaning, { clean: () => Effect.succeed({ removed: 0 }) }).pipe(
  Context.add(StoreHealth, { faults: Effect.succeed([]) })
)

/** The ports of a store with promises, for a service. It cannot be opened if it lacks one. */
export const portsLayer = (open: () => PromiseStore | Promise<PromiseStore>): Layer.Layer<StoragePorts> =>
  Layer.effectContext(
    Effect.promise(async () => {
      const store = await open()
      const missing = REQUIRED.find((part) => store[part] === undefined)
      if (missing !== undefined) throw new TypeError(`the store has no ${missing}`)
      return Context.merge(DEFAULTS, portsBroughtBy(store))
    })
  )
