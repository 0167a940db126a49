import type { ApprovalSessionState, SubjectCredentials } from "@svc/domain/approval/ApprovalSessionState"
import type {
  AuthorizationState,
  MandateState,
  OpenReservation,
  StreamHead
} from "@svc/domain/mandate/MandateState"
import type { ApiKey, Organization } from "@svc/domain/organization/Organization"
import type { FeedEvent } from "@svc/domain/ports/EventFeed"
import type { KeptDeliveries } from "@svc/domain/webhook/KeptDeliveries"
import type { StoredDelivery } from "@svc/domain/webhook/WebhookDelivery"
import type { WebhookEndpointState } from "@svc/domain/webhook/WebhookEndpoint"
import type { Instant } from "@svc/protocol/Timestamp"
import { ClaimTable } from "./ClaimTable.ts"

/** One mandate with its authorizations, sessions and journal. */
export interface MemoryStream {
  readonly mandate: string
  revision: number
  head: StreamHead
  state: MandateState
  nextDue: Instant | undefined
  /** Canonical texts; the event with `seq` n is at n - 1. */
  readonly journal: Array<string>
  readonly authorizations: Map<string, AuthorizationState>
  /** Identifiers of all authorizations by their order, and the orders ascending. */
  readonly idAt: Map<number, string>
  readonly orders: Array<number>
  /** In order of creation. */
  open: ReadonlyArray<OpenReservation>
  /** By identifier, in the order in which they were added. */
  readonly sessions: Map<string, ApprovalSessionState>
  newestSession: string | undefined
}

/** Who has leased a stream, until when. */
export interface MemoryLease {
  readonly token: string
  readonly expiresAt: Instant
}

/** A webhook endpoint with its deliveries. */
export interface MemoryWebhookEndpoint {
  endpoint: WebhookEndpointState
  revision: number
  /** When the first event came that was not kept for it. */
  missedSince: Instant | undefined
  /** What is still kept for it, while it is disabled. */
  kept: KeptDeliveries | undefined
  readonly deliveries: Map<string, StoredDelivery>
  /** Those that are pending, in the order in which they came to be. */
  readonly waiting: Set<string>
  /** When each of the others ended, in the order in which they did. */
  readonly endedAt: Map<string, Instant>
}

/** All that belongs to one organization: nothing in here is found without naming it. */
export interface Tenant {
  readonly streams: Map<string, MemoryStream>
  /** Every event, in the order in which they were recorded. */
  readonly feed: Array<FeedEvent>
  /** Identifiers of all mandates, ascending. */
  readonly mandates: Array<string>
  /** The mandate of each authorization. */
  readonly mandateOf: Map<string, string>
  /** The mandate of each approval session. */
  readonly mandateOfSession: Map<string, string>
  readonly claims: ClaimTable
  /** By mandate. */
  readonly dueLeases: Map<string, MemoryLease>
  readonly subjects: Map<string, SubjectCredentials>
  readonly apiKeys: Map<string, ApiKey>
  /** When each API key was used last. */
  readonly apiKeyUses: Map<string, Instant>
  readonly webhooks: Map<string, MemoryWebhookEndpoint>
  settings: Organization | undefined
}

/** Where the hash of an approval token leads. */
export interface SessionPlace {
  readonly organization: string
  readonly mandate: string
  readonly session: string
}

/** Where the hash of an API key leads. */
export interface ApiKeyPlace {
  readonly organization: string
  readonly apiKey: string
}

/** Everything that one store keeps. Touched in synchronous steps only, so each of them is atomic. */
export class MemoryState {
  readonly tenants = new Map<string, Tenant>()
  /** Part of every feed position, so that a position of an earlier store, lost with its process, is not accepted. */
  readonly feedMark = crypto.randomUUID()
  /** By hash. With `apiKeys` the only look-up that does not name an organization. */
  readonly tokens = new Map<string, SessionPlace>()
  /** By hash. */
  readonly apiKeys = new Map<string, ApiKeyPlace>()
  /** No revision that is given from now on is less: raised by who makes a store lose what it recorded last. */
  revisionsFrom = 1
  #clock: Instant = 0n

  tenant(organization: string): Tenant | undefined {
    return this.tenants.get(organization)
  }

  tenantToWrite(organization: string): Tenant {
    const known = this.tenants.get(organization)
    if (known !== undefined) return known
    const tenant: Tenant = {
      streams: new Map(),
      feed: [],
      mandates: [],
      mandateOf: new Map(),
      mandateOfSession: new Map(),
      claims: new ClaimTable(),
      dueLeases: new Map(),
      subjects: new Map(),
      apiKeys: new Map(),
      apiKeyUses: new Map(),
      webhooks: new Map(),
      settings: undefined
    }
    this.tenants.set(organization, tenant)
    return tenant
  }

  /** The revision after the given one of a webhook endpoint or a subject; 0 stands for none. */
  nextRevision(revision: number): number {
    return Math.max(revision + 1, this.revisionsFrom)
  }

  /**
   * The store's clock: it follows the given one, and stands still while that one is behind, because what
   * was shown must not turn back.
   */
  advance(wallClock: Instant): Instant {
    if (wallClock > this.#clock) this.#clock = wallClock
    return this.#clock
  }

  /** A replica with everything that is recorded by now. The records themselves never change, so both have the same ones. */
  copy(): MemoryState {
    const copy = new MemoryState()
    for (const [id, tenant] of this.tenants) copy.tenants.set(id, copyOfTenant(tenant))
    for (const [hash, place] of this.tokens) copy.tokens.set(hash, place)
    for (const [hash, place] of this.apiKeys) copy.apiKeys.set(hash, place)
    copy.revisionsFrom = this.revisionsFrom
    copy.#clock = this.#clock
    return copy
  }
}

const copyOfTenant = (tenant: Tenant): Tenant => ({
  streams: new Map([...tenant.streams].map(([id, stream]) => [id, copyOfStream(stream)])),
  feed: [...tenant.feed],
  mandates: [...tenant.mandates],
  mandateOf: new Map(tenant.mandateOf),
  mandateOfSession: new Map(tenant.mandateOfSession),
  claims: tenant.claims.copy(),
  dueLeases: new Map(tenant.dueLeases),
  subjects: new Map(tenant.subjects),
  apiKeys: new Map(tenant.apiKeys),
  apiKeyUses: new Map(tenant.apiKeyUses),
  webhooks: new Map([...tenant.webhooks].map(([id, entry]) => [id, copyOfEndpoint(entry)])),
  settings: tenant.settings
})

const copyOfStream = (stream: MemoryStream): MemoryStream => ({
  ...stream,
  journal: [...stream.journal],
  authorizations: new Map(stream.authorizations),
  idAt: new Map(stream.idAt),
  orders: [...stream.orders],
  sessions: new Map(stream.sessions)
})

const copyOfEndpoint = (entry: MemoryWebhookEndpoint): MemoryWebhookEndpoint => ({
  ...entry,
  deliveries: new Map(entry.deliveries),
  waiting: new Set(entry.waiting),
  endedAt: new Map(entry.endedAt)
})
