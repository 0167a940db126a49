/** Faults put into copies of what an audit of webhooks is given, each for one of its checks. */
import { createHmac } from "node:crypto"
import { auditWebhooks, type WebhookAuditInput } from "./WebhookAuditor.ts"

type Input = WebhookAuditInput
type Request = Input["requests"][number]
type Row = Input["tables"]["lines"][number]
type Table = keyof Input["tables"]

interface PlantedFault {
  /** The check that must fail. */
  readonly check: string
  /** `undefined` where the records give no occasion for it. */
  readonly plant: (input: Input) => Input | undefined
}

/** A copy with the first one changed that is meant; `undefined` if there is none. */
const changeFirst = <A>(
  list: ReadonlyArray<A>,
  isMeant: (one: A) => boolean,
  change: (one: A) => ReadonlyArray<A>
) => {
  const at = list.findIndex(isMeant)
  return at < 0 ? undefined : [...list.slice(0, at), ...change(list[at]!), ...list.slice(at + 1)]
}

const inTable =
  (table: Table, isMeant: (row: Row, input: Input) => boolean, change: (row: Row) => ReadonlyArray<Row>) =>
  (input: Input): Input | undefined => {
    const rows = changeFirst(input.tables[table], (row) => isMeant(row, input), change)
    return rows === undefined ? undefined : { ...input, tables: { ...input.tables, [table]: rows } }
  }

const inRequests =
  (
    isMeant: (one: Request, input: Input) => boolean,
    change: (one: Request, input: Input) => ReadonlyArray<Request>
  ) =>
  (input: Input): Input | undefined => {
    const requests = changeFirst(
      input.requests,
      (one) => isMeant(one, input),
      (one) => change(one, input)
    )
    return requests === undefined ? undefined : { ...input, requests }
  }

const any = () => true
const secretOf = ({ path }: Request, { endpoints }: Input): string =>
  endpoints.find((endpoint) => endpoint.path === path)?.secret ?? ""

/** The request with another body or second, rightly signed. */
const resigned = (
  request: Request,
  input: Input,
  change: { readonly body?: string; readonly t?: string }
): Request => {
  const body = change.body ?? request.body
  const t = change.t ?? /^t=(\d+)/u.exec(request.signature)?.[1] ?? ""
  const key = Buffer.from(secretOf(request, input).slice("svc_wh_".length), "base64url")
  const v1 = createHmac("sha256", key).update(`${t}.`).update(body, "latin1").digest("hex")
  return { ...request, body, signature: `t=${t},v1=${v1}` }
}

/** A request signed in another second. */
const later = (request: Request, input: Input, seconds: number): Request =>
  resigned(request, input, { t: String(Number(/^t=(\d+)/u.exec(request.signature)?.[1]) + seconds) })

const isDeleted = (id: string | null | undefined, { endpoints }: Input): boolean =>
  endpoints.find((endpoint) => endpoint.id === id)?.deleted !== undefined

const pathOf = (row: Row, { endpoints }: Input): string | undefined =>
  endpoints.find(({ id }) => id === row.endpoint)?.path

/** A record with its value changed. */
const rewritten = (row: Row, column: string, change: (value: never) => unknown): Row => {
  const { schema, value } = JSON.parse(row[column] ?? "null")
  return { ...row, [column]: JSON.stringify({ schema, value: change(value as never) }) }
}

type Written = Array<{ readonly at: string; readonly status?: number; readonly error?: string }>

const isDelivered = ({ state }: Row): boolean => state === "delivered"
const hasAttempts = ({ attempts }: Row): boolean => attempts !== null && attempts !== undefined

/** Moves a counter of the first write of an endpoint that was made for such an attempt. */
const miscounted =
  (isMeant: (attempt: Written[number], line: Row) => boolean, counter: string) =>
  (input: Input): Input | undefined => {
    const { lines } = input.tables
    const at = lines.findIndex(
      (line) => line.kind === "attempts" && isMeant(JSON.parse(line.record ?? "null").value.at(-1), line)
    )
    const write = lines.findLastIndex(
      ({ endpoint, kind }, index) => index < at && kind === "endpoint" && endpoint === lines[at]?.endpoint
    )
    if (write < 0) return undefined
    const moved = rewritten(lines[write]!, "record", (value: Record<string, number>) => ({
      ...value,
      [counter]: (value[counter] ?? 0) + 1
    }))
    return { ...input, tables: { ...input.tables, lines: lines.with(write, moved) } }
  }

const COUNTS = "counters are those of a recount"
const SIGNED = "signatures verify"
const ONE_BODY = "one event, one body"
const TENANTS = "events go to their own organization"
const HISTORY = "attempts are added one by one"
const DELETION = "nothing is sent after deletion"

/** Each fault by its name. */
export const PLANTED_WEBHOOK_FAULTS: ReadonlyMap<string, PlantedFault> = new Map([
  [
    "an event that never arrived",
    {
      check: "every event arrived",
      plant: (input: Input) => {
        const row = input.tables.deliveries.find((one) => isDelivered(one) && !isDeleted(one.endpoint, input))
        if (row === undefined) return undefined
        const isGone = ({ body, path }: Request) =>
          path === pathOf(row, input) && body.includes(`"${row.event}"`)
        return { ...input, requests: input.requests.filter((one) => !isGone(one)) }
      }
    }
  ],
  [
    "a request that went unseen",
    {
      check: "answers were given",
      plant: (input: Input) => {
        const row = input.tables.deliveries.find(isDelivered)
        if (row === undefined) return undefined
        const { at } = JSON.parse(row.attempts ?? "null").value.at(-1)
        const isMeant = ({ body, path, signature }: Request) =>
          path === pathOf(row, input) &&
          body.includes(`"${row.event}"`) &&
          signature.startsWith(`t=${BigInt(at) / 1_000_000_000n},`)
        return { ...input, requests: input.requests.filter((one) => !isMeant(one)) }
      }
    }
  ],
  [
    "a request that no attempt made",
    {
      check: "requests are attempts",
      plant: inRequests(any, (one, input) => [one, later(one, input, -40_000)])
    }
  ],
  [
    "an attempt that no request made",
    {
      check: "attempts are requests, less lost ones",
      plant: inTable("deliveries", isDelivered, (row) => [
        rewritten(row, "attempts", (list: Written) => [{ at: "1000000000", status: 500 }, ...list])
      ])
    }
  ],
  [
    "a signature with the timestamp of an earlier attempt",
    { check: "fresh t for each attempt", plant: inRequests(any, (one) => [one, one]) }
  ],
  [
    "a signature that is not of the body",
    { check: SIGNED, plant: inRequests(any, (one) => [{ ...one, body: `${one.body} ` }]) }
  ],
  [
    "a signature in upper case",
    {
      check: SIGNED,
      plant: inRequests(any, (one) => [
        { ...one, signature: one.signature.replace(/[a-f]/gu, (at) => at.toUpperCase()) }
      ])
    }
  ],
  [
    "a request without a signature",
    { check: SIGNED, plant: inRequests(any, (one) => [{ ...one, signature: "" }]) }
  ],
  [
    "a body with other bytes of the same meaning",
    {
      check: ONE_BODY,
      plant: inRequests(any, (one, input) => [resigned(one, input, { body: one.body.replace("{", "{ ") })])
    }
  ],
  [
    "a delivery that keeps another body",
    {
      check: ONE_BODY,
      plant: inTable("deliveries", any, (row) => [{ ...row, body: row.body?.replace("{", "{ ") ?? null }])
    }
  ],
  [
    "a tenth attempt",
    {
      check: "at most nine attempts",
      plant: inTable("deliveries", hasAttempts, (row) => [
        rewritten(row, "attempts", (list: Written) => [...Array(9).fill(list[0]), ...list])
      ])
    }
  ],
  [
    "a delivery that is lost",
    {
      check: "each event has its delivery",
      plant: inTable(
        "deliveries",
        ({ endpoint }, input) => !isDeleted(endpoint, input),
        () => []
      )
    }
  ],
  [
    "a delivery made twice",
    {
      check: "each event has its delivery",
      plant: inTable(
        "deliveries",
        ({ endpoint }, input) => !isDeleted(endpoint, input),
        (row) => [row, { ...row, delivery: "dlv_another" }]
      )
    }
  ],
  [
    "a delivery that is still to be done",
    {
      check: "everything due is done",
      plant: inTable(
        "deliveries",
        (row, input) => isDelivered(row) && !isDeleted(row.endpoint, input),
        (row) => [{ ...row, state: "pending" }]
      )
    }
  ],
  [
    "an attempt that is open for good",
    {
      check: "nothing is under way",
      plant: inTable("deliveries", any, (row) => [{ ...row, open_token: "token" }])
    }
  ],
  [
    "a delivery that gave up early",
    {
      check: "states follow from attempts",
      plant: inTable("deliveries", isDelivered, (row) => [{ ...row, state: "exhausted" }])
    }
  ],
  [
    "a request after the deletion",
    {
      check: DELETION,
      plant: inRequests(
        ({ path }, { endpoints }) => endpoints.some((one) => one.path === path && one.deleted !== undefined),
        (one, input) => [one, later(one, input, 40_000)]
      )
    }
  ],
  [
    "an attempt after the deletion",
    {
      check: DELETION,
      plant: inTable(
        "deliveries",
        (row, input) => hasAttempts(row) && isDeleted(row.endpoint, input),
        (row) => [
          rewritten(row, "attempts", (list: Written) => [
            ...list,
            { at: `${BigInt(list.at(-1)?.at ?? 0) + 40_000_000_000_000n}`, error: "timeout" }
          ])
        ]
      )
    }
  ],
  [
    "a delivery made after the deletion",
    {
      check: "no delivery after deletion",
      plant: (input: Input) => {
        const endpoints = input.endpoints.map((one) =>
          one.deleted === undefined
            ? one
            : {
                ...one,
                deleted: {
                  asked: one.registered,
                  answered: { ...one.deleted.answered, seq: one.registered.seq }
                }
              }
        )
        return { ...input, endpoints }
      }
    }
  ],
  [
    "a request to another organization",
    {
      check: TENANTS,
      plant: (input: Input) => {
        const [first] = input.requests
        const owner = input.endpoints.find(({ path }) => path === first?.path)
        const other = input.endpoints.find(({ organization }) => organization !== owner?.organization)
        if (first === undefined || other === undefined) return undefined
        return {
          ...input,
          requests: [...input.requests, resigned({ ...first, path: other.path }, input, {})]
        }
      }
    }
  ],
  [
    "a delivery to another organization",
    {
      check: TENANTS,
      plant: (input: Input) => {
        const [event, ...others] = input.tables.events
        const other = others.find(({ organization }) => organization !== event?.organization)
        const change = inTable(
          "deliveries",
          (row) => row.event === event?.id,
          (row) => [{ ...row, event: other?.id ?? "" }]
        )
        return change(input)
      }
    }
  ],
  [
    "a request of what was never to be delivered",
    {
      check: "requests are of deliveries",
      plant: (input: Input) => {
        const [first] = input.requests
        if (first === undefined) return undefined
        const body = first.body.replace(/evt_\w+/u, "evt_another")
        return { ...input, requests: [...input.requests, resigned(first, input, { body })] }
      }
    }
  ],
  [
    "a delivery to no endpoint",
    {
      check: "deliveries have endpoints",
      plant: inTable("deliveries", any, (row) => [{ ...row, endpoint: "whe_another" }])
    }
  ],
  [
    "two deliveries of an event to an endpoint that came later",
    {
      check: "at most one delivery",
      plant: (input: Input) => {
        const late = input.endpoints.at(-1)
        const event = input.tables.lines.find(
          ({ kind, organization, seq }) =>
            kind === "event_begun" &&
            organization === late?.organization &&
            Number(seq) < (late?.registered.seq ?? 0)
        )
        const [delivery] = input.tables.deliveries
        if (late === undefined || event === undefined || delivery === undefined) return undefined
        const made = ["dlv_one", "dlv_other"].map((name) => ({
          ...delivery,
          delivery: name,
          organization: late.organization,
          endpoint: late.id,
          event: event.event ?? null
        }))
        return { ...input, tables: { ...input.tables, deliveries: [...input.tables.deliveries, ...made] } }
      }
    }
  ],
  [
    "a request to nobody's address",
    { check: "requests go to endpoints", plant: inRequests(any, (one) => [{ ...one, path: "/elsewhere" }]) }
  ],
  [
    "a failed attempt that moved the counter twice",
    {
      check: COUNTS,
      plant: miscounted(({ status = 0 }) => status >= 500, "consecutiveFailedAttempts")
    }
  ],
  [
    "a lost attempt that moved the counter",
    { check: COUNTS, plant: miscounted(({ error }) => error === "worker_lost", "consecutiveFailedAttempts") }
  ],
  [
    "a lost attempt that moved the other counter",
    {
      check: COUNTS,
      plant: miscounted(({ error }) => error === "worker_lost", "consecutiveExhaustedDeliveries")
    }
  ],
  [
    "an arrival that reset nothing",
    { check: COUNTS, plant: miscounted(({ status }) => status === 204, "consecutiveFailedAttempts") }
  ],
  [
    "an exhausted delivery that counted twice",
    {
      check: COUNTS,
      plant: miscounted((_, { state }) => state === "exhausted", "consecutiveExhaustedDeliveries")
    }
  ],
  [
    "a reactivation that kept a counter",
    {
      check: COUNTS,
      plant: inTable(
        "lines",
        ({ generation, kind }) => kind === "endpoint" && generation === "1",
        (row) => [rewritten(row, "record", (value: object) => ({ ...value, consecutiveFailedAttempts: 20 }))]
      )
    }
  ],
  [
    "an endpoint that is counted otherwise in its row",
    {
      check: "the last write stands",
      plant: inTable("endpoints", any, (row) => [
        rewritten(row, "record", (value: object) => ({ ...value, consecutiveFailedAttempts: 19 }))
      ])
    }
  ],
  [
    "an attempt that was rewritten",
    {
      check: HISTORY,
      plant: inTable("deliveries", isDelivered, (row) => [
        rewritten(row, "attempts", (list: Written) => list.with(0, { ...list[0]!, at: `${list[0]!.at}0` }))
      ])
    }
  ],
  [
    "an attempt that nobody saw recorded",
    {
      check: HISTORY,
      plant: inTable(
        "lines",
        ({ kind }) => kind === "attempts",
        () => []
      )
    }
  ]
] satisfies ReadonlyArray<readonly [string, PlantedFault]>)

/** How many faults each check finds. */
const faultsByCheck = (input: Input): ReadonlyMap<string, number> => {
  const groups = Map.groupBy(auditWebhooks(input).faults, (fault) => fault.split(": ")[0] ?? "")
  return new Map([...groups].map(([check, faults]) => [check, faults.length]))
}

/** Names of the planted faults that their check finds beyond what it finds anyway, and of those that it misses. */
export const plantFaults = (
  input: Input
): { readonly found: ReadonlyArray<string>; readonly missed: ReadonlyArray<string> } => {
  const before = faultsByCheck(input)
  const found: Array<string> = []
  const missed: Array<string> = []
  for (const [name, { check, plant }] of PLANTED_WEBHOOK_FAULTS) {
    const planted = plant(input)
    if (planted === undefined) continue
    const isFound = (faultsByCheck(planted).get(check) ?? 0) > (before.get(check) ?? 0)
    ;(isFound ? found : missed).push(name)
  }
  return { found, missed }
}
