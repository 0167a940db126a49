/** Follows webhook endpoints and deliveries by what the store did, and works out for itself what each step must lead to. */
import { createHmac } from "node:crypto"
import type { StreamChange } from "@svc/domain/ports/MandateStore"
import type { EndedAttempts, LeasedDelivery } from "@svc/domain/ports/WebhookStore"
import { deliveryIdOf } from "@svc/domain/webhook/DeliveryId"
import type { WebhookDeliveryState } from "@svc/domain/webhook/WebhookDelivery"
import type { StoredEndpoint, WebhookEndpointState } from "@svc/domain/webhook/WebhookEndpoint"
import type { CountedMandate, Recorded } from "@svc/testkit/JournalRecount"
import { Exit } from "effect"
import type { RarePaths } from "../RarePaths.ts"
import { unsealed } from "../server/CheapCrypto.ts"
import type { StoreServer, StoreWatch, Takeover } from "../store/StoreServer.ts"
import type { Findings } from "./Findings.ts"

const NANOS_PER_SECOND = 1_000_000_000n
const NANOS_PER_MILLISECOND = 1_000_000n
const NANOS_PER_MICRO = 1000n
const SECRET_PREFIX = "svc_wh_"

/** Attempts of a delivery, and how an endpoint is disabled (part 8). */
const ATTEMPTS = 9
const FAILED_IN_A_ROW = 20
const EXHAUSTED_IN_A_ROW = 10
const ENDPOINTS = 5
const KEPT_NANOS = 7n * 86_400n * NANOS_PER_SECOND
const SPREAD_NANOS = 60n * NANOS_PER_SECOND
/** Delays before retries, in seconds, and how far a delay may be from them. */
const DELAYS = [30, 86.4, 248.832, 716.636, 2063.912, 5944.067, 17_118.914, 49_302.472]
const JITTER = 0.2

interface Delivery {
  readonly endpoint: string
  readonly event: string
  readonly isTest: boolean
  readonly attempts: number
  readonly state: string
  /** When the next attempt is due. */
  readonly due: bigint
  readonly open?: {
    readonly token: string
    readonly at: bigint
    readonly expiresAt: bigint
    readonly generation: number
  }
}

interface Endpoint {
  readonly organization: string
  readonly revision: number
  readonly url: string
  readonly types: ReadonlyArray<string> | undefined
  readonly status: string
  readonly generation: number
  readonly failed: number
  readonly exhausted: number
  readonly disabledAt: bigint | undefined
  readonly secretVersion: number
  /** Deliveries that have not ended. */
  readonly waiting: ReadonlySet<string>
}

/** A secret that an endpoint has had. */
interface Secret {
  readonly secret: string
  /** When the next one took its place, in seconds. */
  until: number
}

type LeaseQuery = Parameters<StoreWatch["leased"]>[0]

export class DeliveryAudit {
  #endpoints = new Map<string, Endpoint>()
  #deliveries = new Map<string, Delivery>()
  /** Absent when it is to be worked out again. */
  #dueAt: number | undefined
  #revisionsFrom = 1
  #replica: readonly [Map<string, Endpoint>, Map<string, Delivery>] = [new Map(), new Map()]
  /** Called when an endpoint has just been disabled. */
  whenDisabled: ((organization: string, endpoint: string) => void) | undefined
  /** By URL. */
  readonly #secrets = new Map<string, Array<Secret>>()
  /** Events that a receiver has accepted, by URL and event. */
  readonly #accepted = new Set<string>()
  readonly #bodies = new Map<string, string>()
  readonly #findings: Findings
  readonly #rare: RarePaths
  readonly #server: () => StoreServer

  constructor(findings: Findings, rare: RarePaths, server: () => StoreServer) {
    this.#findings = findings
    this.#rare = rare
    this.#server = server
  }

  /** The earliest instant at which a worker has something to do, in microseconds. */
  get dueAt(): number {
    if (this.#dueAt !== undefined) return this.#dueAt
    let first = Number.POSITIVE_INFINITY
    for (const { status, waiting } of this.#endpoints.values()) {
      for (const id of waiting) {
        const { due, open } = this.#deliveries.get(id)!
        if (open === undefined && status !== "active") continue
        const at = Number((open?.expiresAt ?? due) / NANOS_PER_MICRO)
        if (at < first) first = at
      }
    }
    this.#dueAt = first
    return first
  }

  /** What the events of an append owe to endpoints. */
  appended(change: StreamChange, counted: CountedMandate, states: (version: number) => string): void {
    const clock = this.#server().clock
    const events = counted.events.slice(counted.events.length - change.events.length)
    if (events.length === 0) return
    for (const [id, endpoint] of this.#endpoints) {
      if (endpoint.organization !== change.organization || endpoint.status === "deleted") continue
      const isKept = endpoint.status === "active" || clock < (endpoint.disabledAt ?? 0n) + KEPT_NANOS
      const wanted = events.filter(({ type }) => endpoint.types?.includes(type) ?? true)
      const owed = isKept ? wanted : []
      const deliveries = wanted.map((event) => deliveryIdOf(event.id, id))
      const found = this.#reload(endpoint.organization, id, deliveries)
      this.#findings.check(
        "deliveries that are owed, and no others",
        found.deliveries.length === owed.length,
        `${id} of ${change.mandate}: ${found.deliveries.length} of ${owed.length}`
      )
      for (const event of owed) this.#addOwed(id, event, clock)
    }
    for (const event of events) this.#bodies.set(event.id, expectedBody(change.mandate, event, states))
  }

  #addOwed(endpoint: string, event: Recorded, clock: bigint): void {
    const id = deliveryIdOf(event.id, endpoint)
    this.#put(id, { endpoint, event: event.id, isTest: false, attempts: 0, state: "pending", due: clock })
  }

  #reload(organization: string, endpoint: string, deliveries: ReadonlyArray<string>) {
    const exit = this.#server().run(({ webhooks }) => webhooks.reload({ organization, endpoint, deliveries }))
    const none: {
      readonly stored?: StoredEndpoint
      readonly deliveries: ReadonlyArray<WebhookDeliveryState>
    } = {
      deliveries: []
    }
    return Exit.isSuccess(exit) ? exit.value : none
  }

  #put(id: string, delivery: Delivery): void {
    this.#dueAt = undefined
    this.#deliveries.set(id, delivery)
    const endpoint = this.#endpoints.get(delivery.endpoint)!
    const isWaiting = endpoint.waiting.has(id)
    if (isWaiting === (delivery.state === "pending")) return
    const waiting = new Set(endpoint.waiting)
    if (isWaiting) waiting.delete(id)
    else waiting.add(id)
    this.#endpoints.set(delivery.endpoint, { ...endpoint, waiting })
  }

  leased(query: LeaseQuery, leased: ReadonlyArray<LeasedDelivery>): void {
    const { check } = this.#findings
    const clock = this.#server().clock
    check("leases within their limit", leased.length <= query.limit, `${leased.length} of ${query.limit}`)
    for (const { delivery, endpoint } of leased) {
      const known = this.#deliveries.get(delivery.id)
      const own = this.#endpoints.get(endpoint.id)
      check(
        "attempts of what is due at active endpoints",
        known?.state === "pending" &&
          known.open === undefined &&
          known.due <= clock &&
          own?.status === "active",
        `${endpoint.id}: ${delivery.id} is ${known?.state}, the endpoint ${own?.status}`
      )
      if (known === undefined || own === undefined) continue
      check("secrets as they are when leased", endpoint.secretVersion === own.secretVersion, endpoint.id)
      const open = {
        token: query.token,
        at: clock,
        expiresAt: clock + query.lasts,
        generation: own.generation
      }
      this.#put(delivery.id, { ...known, open })
      const underWay = [...own.waiting].filter((id) => this.#deliveries.get(id)?.open !== undefined).length
      const bound = query.bounds?.get(endpoint.id) ?? query.perEndpoint
      check(
        "attempts of one endpoint within their bound",
        underWay <= bound,
        `${endpoint.id} has ${underWay}`
      )
    }
  }

  recorded(ended: ReadonlyArray<EndedAttempts>, revisions: ReadonlyArray<number | undefined>): void {
    for (const [at, one] of ended.entries()) {
      if (revisions[at] !== undefined) this.#recordedOf(one)
      else {
        const isLost = one.deliveries.some(
          ({ next, token }) => this.#deliveries.get(next.id)?.open?.token !== token
        )
        if (isLost) this.#rare.count("paused worker")
      }
    }
  }

  #recordedOf({ deliveries, endpoint: given, organization }: EndedAttempts): void {
    const { check } = this.#findings
    const latestEnd = this.#latestEnd(deliveries.map(({ next }) => next))
    for (const { next, token } of deliveries) {
      const known = this.#deliveries.get(next.id)
      check("ends of attempts under their own token", known?.open?.token === token, `${given.id}: ${next.id}`)
      if (known?.open === undefined) continue
      const after = this.#ended(known, known.open, next, latestEnd)
      this.#put(next.id, after)
    }
    const counted = this.#endpoints.get(given.id)!
    const revision = this.#revisionAfter(counted.revision)
    const own =
      counted.status === "disabled"
        ? { ...counted, revision, disabledAt: given.disabledAt }
        : { ...counted, revision }
    this.#endpoints.set(given.id, own)
    const { deliveries: rows, stored } = this.#reload(
      organization,
      given.id,
      deliveries.map(({ next }) => next.id)
    )
    for (const row of rows) {
      const known = this.#deliveries.get(row.id)
      const isSame =
        row.state === known?.state && row.attempts.length === known.attempts && row.open === undefined
      check("deliveries as their attempts ended", isSame, `${given.id}: ${row.id} is ${row.state}`)
    }
    this.#checkEndpoint(own, given.id, stored?.endpoint)
  }

  #revisionAfter(revision: number): number {
    return Math.max(revision + 1, this.#revisionsFrom)
  }

  /** By the clock of the worker that waited for it, an attempt may end later than by the store's, which may stand still. */
  #latestEnd(deliveries: ReadonlyArray<WebhookDeliveryState>): bigint {
    const ends = deliveries.map(({ attempts }) => {
      const { at, durationMs } = attempts.at(-1) ?? { at: 0n, durationMs: 0 }
      return at + BigInt(durationMs) * NANOS_PER_MILLISECOND
    })
    let latest = this.#server().clock
    for (const end of ends) if (end > latest) latest = end
    return latest
  }

  #checkEndpoint(own: Endpoint, id: string, stored: WebhookEndpointState | undefined): void {
    this.#findings.check(
      "endpoints as their attempts ended",
      stored?.status === own.status &&
        stored.consecutiveFailedAttempts === own.failed &&
        stored.consecutiveExhaustedDeliveries === own.exhausted &&
        stored.generation === own.generation,
      `${id} is ${stored?.status} ${stored?.consecutiveFailedAttempts}/${stored?.consecutiveExhaustedDeliveries}, ` +
        `counted ${own.status} ${own.failed}/${own.exhausted}`
    )
  }

  #ended(
    known: Delivery,
    open: NonNullable<Delivery["open"]>,
    next: WebhookDeliveryState,
    latestEnd: bigint
  ): Delivery {
    const { check } = this.#findings
    const clock = this.#server().clock
    const about = `${known.endpoint}: ${next.id}`
    const last = next.attempts.at(-1)
    const attempts = known.attempts + 1
    check("one more attempt", next.attempts.length === attempts && last?.at === open.at, about)
    const isLost = last?.error === "worker_lost"
    if (isLost) this.#rare.count("worker lost")
    check("workers are lost when their lease has run out", !isLost || open.expiresAt <= clock, about)
    const isDelivered = last?.status !== undefined && last.status >= 200 && last.status < 300
    if (isDelivered) {
      const url = this.#endpoints.get(known.endpoint)?.url
      check("what is delivered has arrived", this.#accepted.has(`${url} ${known.event}`), about)
    }
    const isExhausted = !isDelivered && attempts >= (known.isTest ? 1 : ATTEMPTS)
    if (isExhausted) this.#rare.count("webhook exhausted")
    const state = isDelivered ? "delivered" : isExhausted ? "exhausted" : "pending"
    check("states of deliveries", next.state === state, `${about} is ${next.state}, counted ${state}`)
    if (!isLost) this.#countAttempt(known, open.generation, isDelivered, isExhausted, clock)
    const due = next.nextAttemptAt ?? 0n
    if (state === "pending") {
      const delay = (DELAYS[attempts - 1] ?? 0) * Number(NANOS_PER_SECOND)
      const [least, most] = [
        BigInt(Math.floor(delay * (1 - JITTER))),
        BigInt(Math.ceil(delay * (1 + JITTER)))
      ]
      check("times of retries", due >= open.at + least && due <= latestEnd + most, `${about} at ${due}`)
    }
    const { open: _, ...rest } = known
    return { ...rest, attempts, state, due }
  }

  /** The counters of an endpoint after an attempt that was not lost (part 8). */
  #countAttempt(
    { endpoint: id, isTest }: Delivery,
    generation: number,
    isDelivered: boolean,
    isExhausted: boolean,
    clock: bigint
  ): void {
    const endpoint = this.#endpoints.get(id)!
    if (endpoint.status === "deleted" || endpoint.generation !== generation) return
    const failed = isDelivered ? 0 : endpoint.failed + 1
    const exhausted = isTest
      ? endpoint.exhausted
      : isDelivered
        ? 0
        : endpoint.exhausted + (isExhausted ? 1 : 0)
    const isBad = failed >= FAILED_IN_A_ROW || exhausted >= EXHAUSTED_IN_A_ROW
    const isDisabled = endpoint.status === "active" && isBad
    if (isDisabled) {
      this.#rare.count("endpoint disabled")
      this.whenDisabled?.(endpoint.organization, id)
    }
    this.#endpoints.set(id, {
      ...endpoint,
      failed,
      exhausted,
      ...(isDisabled ? { status: "disabled", disabledAt: clock } : {})
    })
  }

  endpointChanged(change: Parameters<StoreWatch["endpointChanged"]>[0]): void {
    const { check } = this.#findings
    const { next, organization } = change
    const before = this.#endpoints.get(next.id)
    const clock = this.#server().clock
    if (before === undefined) {
      const others = [...this.#endpoints.values()].filter(
        (endpoint) => endpoint.organization === organization && endpoint.status !== "deleted"
      )
      check("endpoints within their limit", others.length < ENDPOINTS, next.id)
    }
    const isReactivated = before?.status === "disabled" && next.status === "active"
    const expected = change.expected === "absent" ? 0 : change.expected
    const isExpected = (before?.revision ?? 0) === expected
    check("endpoints change on the revision that was read", isExpected, `${next.id}: ${before?.revision}`)
    const endpoint: Endpoint = {
      organization,
      revision: this.#revisionAfter(expected),
      url: next.url,
      types: next.eventTypes,
      status: next.status,
      generation: (before?.generation ?? 0) + (isReactivated ? 1 : 0),
      failed: isReactivated ? 0 : (before?.failed ?? 0),
      exhausted: isReactivated ? 0 : (before?.exhausted ?? 0),
      disabledAt: next.status === "disabled" ? before?.disabledAt : undefined,
      secretVersion: next.secretVersion,
      waiting: before?.waiting ?? new Set()
    }
    check("deleted endpoints stay so", before?.status !== "deleted" || next.status === "deleted", next.id)
    this.#dueAt = undefined
    this.#endpoints.set(next.id, endpoint)
    this.#noteSecret(next, clock)
    this.#checkEndpoint(endpoint, next.id, this.#reload(organization, next.id, []).stored?.endpoint)
    if (isReactivated) this.#spread(organization, next.id, endpoint, clock)
  }

  #noteSecret({ sealedSecret, secretVersion, url }: WebhookEndpointState, clock: bigint): void {
    const secrets = this.#secrets.get(url) ?? []
    this.#secrets.set(url, secrets)
    const secret = unsealed(sealedSecret)
    const last = secrets.at(-1)
    if (last?.secret === secret) return
    if (last !== undefined && secretVersion > 1) last.until = Number(clock / NANOS_PER_SECOND)
    secrets.push({ secret, until: Number.POSITIVE_INFINITY })
  }

  /** After a reactivation, what is due is spread over a minute, and nothing else moves. */
  #spread(organization: string, id: string, endpoint: Endpoint, clock: bigint): void {
    const { deliveries } = this.#reload(organization, id, [...endpoint.waiting])
    for (const row of deliveries) {
      const known = this.#deliveries.get(row.id)!
      if (known.open !== undefined) this.#rare.count("endpoint reactivated in mid-attempt")
      const due = row.nextAttemptAt ?? known.due
      const isMoved = known.open === undefined && due !== known.due
      const isSpread = known.due <= clock && due <= clock + SPREAD_NANOS
      this.#findings.check("reactivations move what is due", !isMoved || isSpread, `${id}: ${row.id}`)
      this.#put(row.id, { ...known, due: isMoved ? due : known.due })
    }
  }

  deliveryAdded({ body, delivery }: Parameters<StoreWatch["deliveryAdded"]>[0]): void {
    const { endpointId: endpoint, eventId: event, eventType, id } = delivery
    const own = this.#endpoints.get(endpoint)
    this.#findings.check(
      "deliveries are added to active endpoints",
      own?.status === "active",
      `${endpoint}: ${id}`
    )
    const isTest = eventType === "endpoint.test"
    if (isTest) this.#bodies.set(event, body)
    this.#put(id, {
      endpoint,
      event,
      isTest,
      attempts: 0,
      state: "pending",
      due: delivery.nextAttemptAt ?? 0n
    })
  }

  /** What a receiver finds of a delivery. */
  received(url: string, headers: Readonly<Record<string, string>>, body: string): void {
    const { check } = this.#findings
    const [, at = "", mac = ""] = /^t=(\d+),v1=([0-9a-f]{64})$/u.exec(headers["svc-signature"] ?? "") ?? []
    const secrets = this.#secrets.get(url) ?? []
    const used = secrets.findLast(({ secret }) => {
      const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64url")
      return createHmac("sha256", key).update(`${at}.${body}`).digest("hex") === mac
    })
    const event: Recorded = JSON.parse(body)
    check("webhooks are signed with a secret of their endpoint", used !== undefined, `${url}: ${event.id}`)
    if (used !== undefined && used !== secrets.at(-1)) this.#rare.count("rotation in mid-sign")
    check(
      "old secrets sign nothing that was leased later",
      used === undefined || Number(at) <= used.until,
      `${url}: ${event.id}`
    )
    const expected = this.#bodies.get(event.id)
    check("webhooks say what is in the journal", expected === body, `${url}: ${body}, not ${expected}`)
  }

  accepted(url: string, body: string): void {
    this.#accepted.add(`${url} ${JSON.parse(body).id}`)
  }

  replicated(): void {
    this.#replica = [new Map(this.#endpoints), new Map(this.#deliveries)]
  }

  failedOver({ isTailLost, revisionsFrom }: Takeover): void {
    this.#revisionsFrom = revisionsFrom
    if (!isTailLost) return
    const [endpoints, deliveries] = this.#replica
    this.#endpoints = new Map(endpoints)
    this.#deliveries = new Map(deliveries)
    this.#dueAt = undefined
    for (const secrets of this.#secrets.values())
      for (const secret of secrets) secret.until = Number.POSITIVE_INFINITY
  }

  /** Every delivery of an active endpoint has ended. */
  checkSettled(): void {
    for (const [id, { status, waiting }] of this.#endpoints) {
      const isSettled = status !== "active" || waiting.size === 0
      this.#findings.check(
        "every delivery ends",
        isSettled,
        `${id} has ${waiting.size} left: ${[...waiting][0]}`
      )
    }
  }

  statusOf(endpoint: string): string | undefined {
    return this.#endpoints.get(endpoint)?.status
  }

  get hasUnended(): boolean {
    return [...this.#endpoints.values()].some(
      ({ status, waiting }) => status === "active" && waiting.size > 0
    )
  }
}

/** The body of a webhook, written by hand in the order of canonical JSON. */
const expectedBody = (mandate: string, event: Recorded, states: (version: number) => string): string => {
  const authorization =
    event.authorization_id === undefined ? "" : `"authorization_id":"${event.authorization_id}",`
  const state = event.authorization_id === undefined ? `"state":"${states(event.mandate_version)}",` : ""
  const data = `{${authorization}"mandate_id":"${mandate}",${state}"version":${event.mandate_version}}`
  return `{"data":${data},"id":"${event.id}","occurred_at":"${event.occurred_at}","type":"${event.type}"}`
}
