import { makeBegunExecutions, withExecution } from "@svc/client/calls"
import type { Mandate } from "@svc/client/resources"
import { recordDueTransitions } from "@svc/domain/workers/DueWorker"
import { attemptDueDeliveries } from "@svc/domain/workers/WebhookWorker"
import { type Instant, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { approveOnPage } from "@svc/testkit/ApproveOnPage"
import { makeSoftwarePasskey, type SoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import { Clock, Effect, Layer } from "effect"
import { memory } from "../memory.ts"
import { type Faults, isObject, throwFaults, unknownNames, wrongTypes } from "../OptionFaults.ts"
import type { PromiseStore } from "../PromiseStore.ts"
import { createService, newOrganizationId, type Service, ServiceParts } from "../Service.ts"
import type { ServiceOptions } from "../ServiceOptions.ts"
import { OPTION_NAMES } from "../ServiceSettings.ts"
import { StoreForTests, StoreLayer } from "../Store.ts"
import { storeFromPromises } from "../StoreFromPromises.ts"
import { makeDueInstants } from "./DueInstants.ts"
import { effectClockOf, instantOf, type ManualClock, makeManualClock } from "./ManualClock.ts"
import type { StoreTime } from "./StoreContract.ts"
import { inboxTransport, makeInbox, type Receive, type ReceivedWebhook } from "./WebhookReceiver.ts"

/** Where end users of the organization that a test service brings are sent back to. */
const RETURN_ORIGIN = "https://shop.example"

/** Address of the endpoint that a test service registers. */
const WEBHOOK_URL = "https://webhooks.example/svc"

/** How long `webhooks.next` waits for calls that are still under way, in milliseconds. */
const NEXT_TIMEOUT_MS = 2000

/** How often it looks meanwhile, in milliseconds. */
const NEXT_LOOK_MS = 10

/** Options of a test service: those of a service, all optional, and its clock and receiver. */
export interface TestServiceOptions extends Partial<Omit<ServiceOptions, "store" | "worker">> {
  /** Makes a store of your own, which shows the time that it is given, as for `storeContract`. Default: one in memory. */
  readonly store?: (time: StoreTime) => PromiseStore | Promise<PromiseStore>
  /** What the clock shows first, as RFC 3339 in UTC. Default: the time of the host. */
  readonly now?: string
  /** Answers the webhooks of all endpoints; what it does not answer 2xx is tried again later. Default: 204. */
  readonly receive?: Receive
  /** Whether the organization has an endpoint, which wants all events. Default: `true`. */
  readonly webhooks?: boolean
}

/** The webhooks of a test service, which never leave the process. */
export interface WebhookInbox {
  /** Delivers what is due, and returns everything that has arrived at any endpoint, in its order. */
  readonly received: () => Promise<ReadonlyArray<ReceivedWebhook>>
  /**
   * The next webhook of a type, after the one that `next` returned last. Waits up to 2 s for calls that are under way, then
   * rejects with what did arrive. It does not move the clock.
   */
  readonly next: (type: ReceivedWebhook["event"]["type"]) => Promise<ReceivedWebhook>
  /** The secret of the endpoint that is registered at the start. */
  readonly secret: string | undefined
}

/** A service for tests: everything of a service, and a clock, end users who approve, and a receiver of webhooks. */
export interface TestService extends Service {
  readonly clock: ManualClock
  /** The first of its organizations. */
  readonly organization: string
  /**
   * Approves a mandate as its end user would: opens an approval session, and goes through the requests of the approval page
   * with a passkey in software, which is registered the first time. Returns the mandate as it is then.
   */
  readonly approve: (
    mandate: string | { readonly id: string },
    options?: {
      /** Default: the first one. */
      readonly organization?: string
      /** The identity assertion of the session. Default: one for the mandate's subject; your own with an `identify` of yours. */
      readonly assertion?: string
    }
  ) => Promise<Mandate>
  readonly webhooks: WebhookInbox
}

const { store: _store, worker: _worker, ...SERVICE_OPTIONS } = OPTION_NAMES

const TEST_OPTIONS: Readonly<Record<keyof TestServiceOptions, true>> = {
  ...SERVICE_OPTIONS,
  now: true,
  receive: true,
  store: true,
  webhooks: true
}

/** Options of a service that a test service has in its own way, and what to do instead. */
const OWN_OPTIONS: Readonly<Record<string, string>> = {
  worker: "worker is not an option: deliveries and due transitions are made when the clock moves."
}

const optionFaults = (options: unknown): Faults => {
  if (!isObject(options)) return [`options must be an object, such as { now: "2026-03-28T12:00:00Z" }.`]
  const own = Object.keys(OWN_OPTIONS)
  return [
    ...unknownNames(options, [...Object.keys(TEST_OPTIONS), ...own]),
    ...own.filter((name) => options[name] !== undefined).map((name) => OWN_OPTIONS[name] ?? ""),
    ...wrongTypes(options, ["receive"], "function"),
    ...(options.store === undefined || typeof options.store === "function"
      ? []
      : ["store must be a function that makes it, such as ({ now }) => makeMyStore(now)."]),
    ...wrongTypes(options, ["webhooks"], "boolean")
  ]
}

const hostInstant = (): Instant => BigInt(Date.now()) * NANOS_PER_MILLISECOND

/** The options of the service that is tested, on a clock and with an inbox of the test. */
const serviceOptionsOf = (options: TestServiceOptions): Omit<ServiceOptions, "store"> => {
  const { now: _now, receive: _receive, store: _store, webhooks: _webhooks, ...given } = options
  const ownIdentities = given.organizations?.some(({ identity }) => identity !== undefined) === true
  return {
    environment: "test",
    baseUrl: "http://localhost:3000/mandates",
    approvalUrl: "http://localhost:3000/approvals",
    organizations: [{ id: newOrganizationId(), name: "Shop", returnOrigins: [RETURN_ORIGIN] }],
    ...(ownIdentities
      ? {}
      : { identify: async (assertion: string) => ({ subject: assertion, jti: crypto.randomUUID() }) }),
    ...given,
    // The clock stands still, so a bound per second would never be lifted.
    limits: { rateLimit: "off", ...given.limits },
    worker: false
  }
}

const makeApprove = (
  service: Service,
  { approvalUrl, organizations = [] }: Pick<ServiceOptions, "approvalUrl" | "organizations">
): TestService["approve"] => {
  const passkeys = new Map<string, SoftwarePasskey>()
  const passkeyOf = (organization: string, subject: string): SoftwarePasskey => {
    const key = JSON.stringify([organization, subject])
    const passkey = passkeys.get(key) ?? makeSoftwarePasskey({ origin: new URL(approvalUrl).origin })
    passkeys.set(key, passkey)
    return passkey
  }
  return async (mandate, { assertion, organization = organizations[0]?.id ?? "" } = {}) => {
    const { mandates } = service.forOrganization(organization)
    const { id, subject_reference: subject } = await mandates.get(
      typeof mandate === "string" ? mandate : mandate.id
    )
    const [origin = RETURN_ORIGIN] = organizations.find(({ id }) => id === organization)?.returnOrigins ?? []
    const session = await mandates.openApproval(id, {
      identity_assertion: assertion ?? subject,
      return_url: `${origin}/approved`,
      return_state: crypto.randomUUID()
    })
    await approveOnPage(session.approval_url ?? "", service.fetch, passkeyOf(organization, subject))
    return mandates.get(id)
  }
}

const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

const makeWebhookInbox = (received: WebhookInbox["received"], secret: string | undefined): WebhookInbox => {
  let taken = 0
  const next: WebhookInbox["next"] = async (type) => {
    for (const until = performance.now() + NEXT_TIMEOUT_MS; ; await sleep(NEXT_LOOK_MS)) {
      const all = await received()
      const at = all.findIndex(({ event }, index) => index >= taken && event.type === type)
      const found = all[at]
      if (found !== undefined) {
        taken = at + 1
        return found
      }
      if (performance.now() < until) continue
      const types = all.slice(taken).map(({ event }) => event.type)
      throw new Error(`no webhook ${type} has arrived; since the last one: ${types.join(", ") || "none"}`)
    }
  }
  return { received, next, secret }
}

/** Records the transitions that are due and makes the attempts that are: how many there were. */
const settleOnce = Effect.zipWith(
  recordDueTransitions,
  attemptDueDeliveries,
  (streams, attempts) => streams + attempts
)

/**
 * A service for tests, over a store in memory or one of your own, on a clock that stands still until the test moves it. Nothing leaves the
 * process. Due transitions are recorded and webhooks delivered when the clock moves, at the very instants at which they are
 * due, and webhooks also when the test asks for them.
 *
 * @example
 * ```ts
 * import { testService } from "svc/testkit"
 *
 * const service = await testService({ now: "2026-03-28T12:00:00Z" })
 * const shop = service.forOrganization(service.organization)
 * const mandate = await shop.mandates.create({
 *   kind: "SINGLE",
 *   subject_reference: "user_1",
 *   policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
 *   window: { ends_at: service.clock.after({ days: 30 }) }
 * })
 * await service.approve(mandate)
 * await service.webhooks.next("mandate.approved")
 * await service.clock.advance({ days: 30 })
 * await service.webhooks.next("mandate.expired")
 * await service.close()
 * ```
 */
export const testService = async (options: TestServiceOptions = {}): Promise<TestService> => {
  throwFaults("testService", optionFaults(options))
  const given = serviceOptionsOf(options)
  const due = makeDueInstants((given.organizations ?? []).map(({ id }) => id))
  const inbox = makeInbox(options.receive)
  const start = options.now === undefined ? hostInstant() : instantOf(options.now)
  const { clock, read } = makeManualClock(start, {
    settle: () => settle(),
    nextDue: () => runtime.run(Effect.orDie(due.after(read())))
  })
  const { store: makeStore } = options
  const stored = makeStore === undefined ? memory() : storeFromPromises(() => makeStore({ now: read }))
  const service = createService({
    ...given,
    store: {
      ...stored,
      [StoreLayer]: (signer) => Layer.provideMerge(due.watching, stored[StoreLayer](signer)),
      [StoreForTests]: {
        clock: Layer.succeed(Clock.Clock, effectClockOf(read)),
        transport: inboxTransport({ inbox, read, organizations: due.organizations })
      }
    }
  })
  const { runtime } = service[ServiceParts]
  const settle = async (): Promise<void> => {
    while ((await runtime.run(Effect.orDie(settleOnce))) > 0);
  }
  await service.ready()
  const executions = { now: () => Number(read() / NANOS_PER_MILLISECOND), begun: makeBegunExecutions() }
  const organization = given.organizations?.[0]?.id ?? ""
  const endpoint =
    options.webhooks === false || organization === ""
      ? undefined
      : await service.forOrganization(organization).webhooks.create({ url: WEBHOOK_URL })
  const received = async () => {
    await settle()
    return inbox.all()
  }
  return {
    ...service,
    // What is executed goes by this clock, too.
    forOrganization: (id) => withExecution(service.forOrganization(id), executions),
    clock,
    organization,
    approve: makeApprove(service, given),
    webhooks: makeWebhookInbox(received, endpoint?.secret)
  }
}
