import * as svc from "svc/store"

/** A mandate: what its last change left, and all of its events, authorizations and sessions. */
interface Stream {
  readonly mandate: string
  revision: number
  last: Pick<svc.StreamChange, "headAfter" | "mandateState" | "nextDue">
  readonly journal: Array<string>
  readonly authorizations: Map<string, svc.AuthorizationState>
  readonly sessions: Map<string, svc.ApprovalSessionState>
}

interface Endpoint {
  endpoint: svc.WebhookEndpointState
  revision: number
  missedSince: bigint | undefined
  kept: svc.KeptDeliveries | undefined
  readonly deliveries: Map<string, svc.StoredDelivery>
}

const newStream = (mandate: string, last: Stream["last"]): Stream => ({
  mandate,
  revision: 0,
  last,
  journal: [],
  authorizations: new Map(),
  sessions: new Map()
})

/** Everything of one organization. */
const newTenant = () => ({
  settings: undefined as svc.Organization | undefined,
  streams: new Map<string, Stream>(),
  feed: [] as Array<svc.FeedEvent>,
  claims: new Map<string, svc.UniqueClaim>(),
  leases: new Map<string, { readonly token: string; readonly until: bigint }>(),
  subjects: new Map<string, svc.SubjectCredentials>(),
  apiKeyUses: new Map<string, bigint>(),
  endpoints: new Map<string, Endpoint>()
})
type Tenant = ReturnType<typeof newTenant>

/** What is kept and what is handed out are copies: nobody changes the store by changing what they hold. */
const copy = structuredClone

const compare = <A extends bigint | string | number>(one: A, other: A): number =>
  one < other ? -1 : one > other ? 1 : 0

const later = (one: bigint, other: bigint): bigint => (one > other ? one : other)

const newestFirst = <A>(entries: Map<string, A>): Array<A> =>
  [...entries].sort(([one], [other]) => compare(other, one)).map(([, entry]) => entry)

/** Leaves out members that are not there, as the ports have it. */
const given = <Name extends string, A>(name: Name, value: A | undefined): { readonly [N in Name]?: A } =>
  value === undefined ? {} : ({ [name]: value } as { readonly [N in Name]?: A })

const dueOf = <A extends Pick<Stream, "last" | "mandate">>(streams: Iterable<A>, now: bigint): Array<A> =>
  [...streams]
    .filter(({ last }) => last.nextDue !== undefined && last.nextDue <= now)
    .sort(
      (one, other) => compare(one.last.nextDue!, other.last.nextDue!) || compare(one.mandate, other.mandate)
    )

/** What a change says of who owns what: an identifier's mandate, a token's session. */
const ownersOf = ({ authorizations, mandate, organization, sessions }: svc.StreamChange) =>
  new Map([
    ...authorizations.map(({ id, order }) => [`${organization} ${id}`, `${mandate} ${order}`] as const),
    ...authorizations.map(({ id, order }) => [`${organization} ${mandate} ${order}`, id] as const),
    ...sessions.map(({ id, tokenHash }) => [`${organization} ${id}`, `${mandate} ${tokenHash}`] as const),
    ...sessions.map(({ id, tokenHash }) => [tokenHash, `${organization} ${mandate} ${id}`] as const)
  ])

/**
 * A store in the memory of the process, with promises. Each operation is one synchronous step, so it is atomic; a store over
 * a database would do each in a transaction. `now` is the store's clock, in nanoseconds since 1970.
 */
export const makeMapStore = (now: () => bigint): svc.PromiseStore => {
  const tenants = new Map<string, Tenant>()
  /** What never changes hands, of all organizations. */
  const owners = new Map<string, string>()
  const keys = new Map<string, svc.ApiKey>()
  const feedMark = crypto.randomUUID()

  const tenantOf = (organization: string): Tenant => {
    const tenant = tenants.get(organization) ?? newTenant()
    tenants.set(organization, tenant)
    return tenant
  }

  const holderIn = (tenant: Tenant) => (claim: svc.ClaimName) => {
    const held = tenant.claims.get(`${claim.kind} ${claim.name}`)
    return held?.expiresAt === undefined || held.expiresAt > now() ? held : undefined
  }
  const take = (tenant: Tenant, claims: ReadonlyArray<svc.UniqueClaim>): void => {
    for (const claim of claims) tenant.claims.set(`${claim.kind} ${claim.name}`, copy(claim))
  }
  const refuse = (refusal: Error | undefined): void => {
    if (refusal !== undefined) throw refusal
  }

  /** The organization, the stream and the session that a query leads to. */
  const find = ({ organization, stream: reference = { mandate: "" } }: svc.LoadQuery) => {
    if ("approvalTokenHash" in reference) {
      const [owner = "", mandate, session] = owners.get(reference.approvalTokenHash)?.split(" ") ?? []
      if (organization === undefined || organization === owner)
        return { organization: owner, mandate, session }
      return { organization }
    }
    const [id = ""] = Object.values(reference)
    const mandate = "mandate" in reference ? id : owners.get(`${organization} ${id}`)?.split(" ")[0]
    const session = "approvalSession" in reference ? id : undefined
    return { organization: organization ?? "", mandate, session }
  }
  const clockOf = ({ last }: Stream): bigint => later(last.headAfter.occurredAt, now())

  const loaded = (stream: Stream, query: svc.LoadQuery, organization: string, session?: string) => {
    const open = [...stream.authorizations.values()]
      .filter(({ state }) => state === "RESERVED")
      .sort((one, other) => one.order - other.order)
      .map(svc.openReservationOf)
    const wanted = new Set(query.authorizations)
    for (const { expiresAt, id } of open) if (expiresAt <= clockOf(stream)) wanted.add(id)
    if (query.stream !== undefined && "authorization" in query.stream) wanted.add(query.stream.authorization)
    const authorizations = new Map([...stream.authorizations].filter(([id]) => wanted.has(id)))
    const { headAfter: head, mandateState: mandate } = stream.last
    const subject = tenantOf(organization).subjects.get(mandate.terms.subject_reference)
    const newest = [...stream.sessions.keys()].at(-1) ?? ""
    return {
      organization,
      revision: stream.revision,
      head,
      state: { mandate, open, authorizations },
      ...(query.approval ? given("session", stream.sessions.get(session ?? newest)) : {}),
      ...(query.approval ? given("subject", subject) : {})
    }
  }

  const append = (input: svc.StreamChange): { readonly revision: number } => {
    const change = copy(input)
    const { headAfter, mandate, mandateState, nextDue, subject } = change
    const last = { headAfter, mandateState, nextDue }
    const tenant = tenantOf(change.organization)
    const stream = tenant.streams.get(mandate) ?? newStream(mandate, last)
    const isNew = stream.revision === 0
    const place = {
      now: now(),
      revision: isNew ? undefined : stream.revision,
      subjectRevision: tenant.subjects.get(subject?.reference ?? "")?.revision,
      head: isNew ? undefined : stream.last.headAfter,
      holderOf: holderIn(tenant)
    }
    refuse(svc.refusalOf(change, place))
    for (const [name, owner] of ownersOf(change))
      if ((owners.get(name) ?? owner) !== owner) throw new Error(`${name} is of ${owners.get(name)}`)
    // Nothing is refused from here on.
    for (const [name, owner] of ownersOf(change)) owners.set(name, owner)
    tenant.streams.set(mandate, stream)
    stream.revision += 1
    stream.last = last
    for (const { text } of change.events) {
      stream.journal.push(text)
      tenant.feed.push({ mandate, text })
    }
    for (const each of change.authorizations) stream.authorizations.set(each.id, each)
    for (const each of change.sessions) stream.sessions.set(each.id, each)
    if (subject !== undefined)
      putSubject(tenant, subject.reference, subject.next, (place.subjectRevision ?? 0) + 1)
    take(tenant, change.claims)
    for (const entry of tenant.endpoints.values()) {
      const { deliveries, ...rest } = svc.eventDeliveries(entry, change.events, now())
      Object.assign(entry, rest)
      for (const each of deliveries) entry.deliveries.set(each.delivery.id, each)
    }
    return { revision: stream.revision }
  }
  const putSubject = (tenant: Tenant, reference: string, next: svc.SubjectCredentials, revision: number) =>
    tenant.subjects.set(reference, copy({ ...next, revision }))

  const storedOf = ({ endpoint, missedSince, revision }: Endpoint) => ({
    endpoint,
    revision,
    ...given("missedSince", missedSince)
  })
  const endpointOf = (organization: string, id = ""): Endpoint | undefined =>
    tenants.get(organization)?.endpoints.get(id)
  const replaceEndpoint = (entry: Endpoint, next: svc.WebhookEndpointState): void => {
    if (next.status === "active") entry.missedSince = undefined
    entry.kept = svc.keptDeliveriesAfter(entry.kept, next)
    entry.endpoint = copy(next)
    entry.revision += 1
  }
  const move = (entry: Endpoint, delivery: svc.WebhookDeliveryState): void => {
    const { body } = entry.deliveries.get(delivery.id)!
    entry.deliveries.set(delivery.id, { delivery: copy(delivery), body })
  }
  const deliveriesOf = ({ deliveries }: Endpoint) => [...deliveries.values()].map(({ delivery }) => delivery)
  const loadEndpoint = (query: { organization: string; endpoint?: string; idempotencyKey?: string }) => {
    const entry = endpointOf(query.organization, query.endpoint)
    const claim = { kind: "idempotency_key", name: query.idempotencyKey ?? "" } as const
    const held = holderIn(tenantOf(query.organization))(claim)
    return copy({
      now: now(),
      ...given("held", held && { fingerprint: held.fingerprint, resource: held.resource }),
      ...given("stored", entry && storedOf(entry))
    })
  }
  const livingOf = (organization: string) =>
    newestFirst(tenantOf(organization).endpoints).filter(({ endpoint }) => endpoint.status !== "deleted")

  const webhooks: svc.PromiseStore["webhooks"] = {
    loadEndpoint,
    listEndpoints: (organization) => livingOf(organization).map((entry) => copy(storedOf(entry))),
    changeEndpoint: ({ claims, expected, limit, next, organization, spread }) => {
      const tenant = tenantOf(organization)
      const known = tenant.endpoints.get(next.id)
      if ((known?.revision ?? "absent") !== expected) throw new svc.Stale()
      refuse(svc.takenClaim(claims, holderIn(tenant)))
      if (known === undefined && livingOf(organization).length >= limit) throw new svc.EndpointLimitReached()
      const fresh = { endpoint: next, revision: 0, kept: undefined, missedSince: undefined }
      const entry: Endpoint = known ?? { ...fresh, deliveries: new Map() }
      replaceEndpoint(entry, next)
      tenant.endpoints.set(next.id, entry)
      if (spread !== undefined)
        for (const delivery of svc.afterReactivation(deliveriesOf(entry), spread)) move(entry, delivery)
      take(tenant, claims)
      return { revision: entry.revision }
    },
    loadDelivery: (query) => {
      const entry = endpointOf(query.organization, query.endpoint)
      const delivery = entry?.deliveries.get(query.delivery ?? "")
      return { ...loadEndpoint(query), ...given("delivery", copy(delivery)) }
    },
    listDeliveries: ({ after, endpoint, limit, organization }) => {
      const entry = endpointOf(organization, endpoint)
      if (entry === undefined) return { deliveries: [] }
      const older = newestFirst(entry.deliveries).filter(
        ({ delivery }) => after === undefined || delivery.id < after
      )
      const deliveries = older.slice(0, limit + 1).map(({ delivery }) => delivery)
      return copy({ stored: storedOf(entry), deliveries })
    },
    addDelivery: ({ body, claims, delivery, organization }) => {
      const entry = endpointOf(organization, delivery.endpointId)
      if (entry?.endpoint.status !== "active") throw new svc.Stale()
      refuse(svc.takenClaim(claims, holderIn(tenantOf(organization))))
      entry.deliveries.set(delivery.id, copy({ delivery, body }))
      take(tenantOf(organization), claims)
    },
    leaseDue: (query) => {
      const endpoints = [...tenants.values()].map((tenant) =>
        [...tenant.endpoints.values()].map((entry) => {
          const waiting = deliveriesOf(entry).filter(({ state }) => state === "pending")
          return { entry, endpoint: entry.endpoint, waiting }
        })
      )
      return svc.deliveriesInTurn(endpoints, query, now()).map(({ delivery, place: { endpoint, entry } }) => {
        move(entry, svc.beginAttempt(delivery, endpoint, { ...query, now: now() }))
        return copy({ ...storedOf(entry), ...entry.deliveries.get(delivery.id)! })
      })
    },
    expiredAttempts: ({ limit }) => {
      const expired = [...tenants.values()]
        .flatMap(({ endpoints }) => [...endpoints.values()])
        .flatMap((entry) => deliveriesOf(entry).map((delivery) => ({ ...storedOf(entry), delivery })))
        .filter(({ delivery }) => svc.isWorkerLost(delivery, now()))
      return copy({ now: now(), expired: expired.slice(0, limit) })
    },
    recordAttempts: (ended) =>
      ended.map(({ deliveries, endpoint, expected, organization }) => {
        const entry = endpointOf(organization, endpoint.id)
        const isOpen = ({ next, token }: (typeof deliveries)[number]) =>
          entry?.deliveries.get(next.id)?.delivery.open?.token === token
        if (entry === undefined || entry.revision !== expected || !deliveries.every(isOpen)) return undefined
        replaceEndpoint(entry, endpoint)
        for (const { next } of deliveries) move(entry, next)
        return entry.revision
      }),
    reload: ({ deliveries, endpoint, organization }) => {
      const entry = endpointOf(organization, endpoint)
      const found = deliveries.flatMap((id) => entry?.deliveries.get(id)?.delivery ?? [])
      return copy({ now: now(), ...given("stored", entry && storedOf(entry)), deliveries: found })
    }
  }
  return {
    webhooks,
    mandates: {
      load: (query) => {
        const { mandate = "", organization, session } = find(query)
        const tenant = tenantOf(organization)
        const stream = tenant.streams.get(mandate)
        const held = (query.claims ?? []).flatMap(({ kind, name }) => {
          const { fingerprint, resource = undefined } = holderIn(tenant)({ kind, name }) ?? {}
          return resource === undefined ? [] : [{ kind, name, fingerprint: fingerprint ?? "", resource }]
        })
        if (stream === undefined) return { now: now(), held }
        return copy({ now: clockOf(stream), held, stream: loaded(stream, query, organization, session) })
      },
      append,
      listMandates: ({ after, limit, organization, state, subjectReference }) => {
        const isShown = ({ last, mandate }: Stream): boolean => {
          const { subject_reference: subject } = last.mandateState.terms
          return (after === undefined || mandate < after) && (subjectReference ?? subject) === subject
        }
        const shown = newestFirst(tenantOf(organization).streams).filter(isShown)
        const due = dueOf(shown, now()).map(({ mandate }) => mandate)
        const mandates = shown.map(({ last }) => last.mandateState)
        const page = mandates.filter((each) => (state ?? each.state) === each.state).slice(0, limit + 1)
        return copy({ now: now(), due: due.slice(0, svc.DUE_STREAMS_PER_LIST + 1), mandates: page })
      },
      listAuthorizations: ({ afterOrder = Infinity, limit, mandate, organization, state }) => {
        const stream = tenants.get(organization)?.streams.get(mandate)
        if (stream === undefined) return undefined
        const rows = [...stream.authorizations.values()]
          .filter((each) => each.order < afterOrder && each.state === (state ?? each.state))
          .sort((one, other) => other.order - one.order)
        const due = dueOf([stream], clockOf(stream)).length > 0
        const authorizations = rows.slice(0, limit + 1)
        return copy({ now: clockOf(stream), mandate: stream.last.mandateState, due, authorizations })
      },
      journal: ({ afterSeq, limit, mandate, organization, uptoSeq }) => {
        const journal = tenants.get(organization)?.streams.get(mandate)?.journal ?? []
        return journal.slice(afterSeq, Math.min(uptoSeq, afterSeq + limit))
      }
    },
    subjects: {
      load: ({ organization, subjectReference }) =>
        copy({ now: now(), subject: tenants.get(organization)?.subjects.get(subjectReference) }),
      replace: ({ expected, next, organization, subjectReference }) => {
        const tenant = tenantOf(organization)
        if (tenant.subjects.get(subjectReference)?.revision !== expected) throw new svc.Stale()
        putSubject(tenant, subjectReference, next, expected + 1)
      }
    },
    due: {
      take: ({ lasts, limit, token }) => {
        const free = [...tenants].flatMap(([organization, { leases, streams }]) =>
          [...streams.values()]
            .filter(({ mandate }) => (leases.get(mandate)?.until ?? 0n) <= now())
            .map((stream) => ({ ...stream, organization }))
        )
        return dueOf(free, now())
          .slice(0, limit)
          .map(({ mandate, organization }) => {
            tenantOf(organization).leases.set(mandate, { token, until: now() + lasts })
            return { organization, mandate }
          })
      },
      release: ({ streams, token }) => {
        for (const { mandate, organization } of streams) {
          const { leases } = tenantOf(organization)
          if (leases.get(mandate)?.token === token) leases.delete(mandate)
        }
      }
    },
    feed: {
      read: ({ after, bytes, limit, organization }) => {
        const { feed } = tenantOf(organization)
        const [mark, number = ""] = after === svc.FEED_START ? [feedMark, "0"] : after.split(".")
        if (mark !== feedMark && /^[0-9a-f-]{36}$/u.test(mark ?? "") && /^[1-9]\d*$/u.test(number))
          throw new svc.PositionRefused({ reason: "history_changed" })
        if (mark !== feedMark || !/^\d+$/u.test(number) || Number(number) > feed.length)
          throw new svc.PositionRefused({ reason: "not_given" })
        const start = Number(number)
        let end = start
        for (let taken = 0; end < feed.length && end < start + limit && taken < bytes; end += 1)
          taken += new TextEncoder().encode(feed[end]?.text).length
        const position = end === start ? after : `${feedMark}.${end}`
        return { events: feed.slice(start, end), position, hasMore: end < feed.length }
      }
    },
    organizations: {
      find: (organization) => copy(tenants.get(organization)?.settings),
      findApiKey: (hash) => {
        const apiKey = [...keys.values()].find((key) => key.hash === hash)
        const { apiKeyUses, settings } = tenantOf(apiKey?.organizationId ?? "")
        if (settings === undefined || apiKey === undefined) return undefined
        const lastUsedAt = given("lastUsedAt", apiKeyUses.get(apiKey.id))
        return copy({ now: now(), apiKey, organization: settings, ...lastUsedAt })
      },
      listApiKeys: (organization) => {
        const apiKeys = newestFirst(keys).filter((key) => key.organizationId === organization)
        return copy({ now: now(), apiKeys: apiKeys.reverse(), lastUsedAt: tenantOf(organization).apiKeyUses })
      },
      recordApiKeyUse: ({ apiKey, organization, since }) => {
        const { apiKeyUses } = tenantOf(organization)
        const isOwn = keys.get(apiKey)?.organizationId === organization
        if (isOwn && (apiKeyUses.get(apiKey) ?? -1n) < since) apiKeyUses.set(apiKey, now())
      },
      put: (organization) => {
        tenantOf(organization.id).settings = copy(organization)
      },
      putApiKey: (apiKey) => {
        keys.set(apiKey.id, copy(apiKey))
      }
    }
  }
}
