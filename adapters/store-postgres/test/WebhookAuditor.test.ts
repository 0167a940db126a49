import { createHmac, randomBytes } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { PLANTED_WEBHOOK_FAULTS } from "../soak/PlantedWebhookFaults.ts"
import { type AuditedEndpoint, auditWebhooks, type WebhookAuditInput } from "../soak/WebhookAuditor.ts"

type Row = Record<string, string | null>

interface Counters {
  readonly failed?: number
  readonly exhausted?: number
  readonly status?: string
  readonly generation?: number
}

/** Seconds of the first attempt; every step takes one. */
const START = 1_800_000_000

/** Records by hand, of one soak in which everything went as it should. */
const newRecords = () => {
  const lines: Array<Row> = []
  const events: Array<Row> = []
  const deliveries: Array<Row> = []
  const requests: Array<WebhookAuditInput["requests"][number]> = []
  const endpoints = new Map<string, { -readonly [Name in keyof AuditedEndpoint]: AuditedEndpoint[Name] }>()
  const rows = new Map<string, Row>()
  let seq = 0
  let second = START
  const point = () => ({ seq: ++seq, clock: BigInt(second) * 1_000_000_000n })
  const line = (row: Row) => lines.push({ seq: String(++seq), ...row })
  const put = (id: string, { exhausted = 0, failed = 0, generation = 0, status = "active" }: Counters) => {
    const value = {
      status,
      generation,
      consecutiveFailedAttempts: failed,
      consecutiveExhaustedDeliveries: exhausted
    }
    const row = {
      organization: endpoints.get(id)!.organization,
      endpoint: id,
      record: JSON.stringify({ schema: 1, value })
    }
    rows.set(id, row)
    line({ kind: "endpoint", ...row, state: status, generation: String(generation) })
  }
  const register = (id: string, organization: string) => {
    const secret = `svc_wh_${randomBytes(32).toString("base64url")}`
    endpoints.set(id, { id, organization, path: `/${id}`, secret, registered: { seq: 0, clock: 0n } })
    put(id, {})
    endpoints.get(id)!.registered = point()
  }
  const remove = (id: string, counters: Counters) => {
    second += 1
    const asked = point()
    put(id, { ...counters, status: "deleted" })
    endpoints.get(id)!.deleted = { asked, answered: point() }
  }
  const happen = (id: string, organization: string, to: ReadonlyArray<string>) => {
    events.push({ organization, id, type: "mandate.created" })
    line({ kind: "event_begun", organization, event: id })
    for (const endpoint of to) {
      deliveries.push({
        organization,
        endpoint,
        delivery: `dlv_${endpoint}_${id}`,
        event: id,
        state: "pending",
        open_token: null,
        attempts: null,
        body: `{"data":{},"id":"${id}","type":"Ağaç"}`
      })
    }
    line({ kind: "event_ended", organization, event: id })
  }
  const seen = (endpoint: string, body: string, status: number) => {
    const { path, secret } = endpoints.get(endpoint)!
    const key = Buffer.from(secret.slice("svc_wh_".length), "base64url")
    const v1 = createHmac("sha256", key).update(`${second}.${body}`).digest("hex")
    const bytes = Buffer.from(body).toString("latin1")
    requests.push({ path, signature: `t=${second},v1=${v1}`, body: bytes, status })
  }
  /** An attempt that was seen unless it is lost before that, and how the endpoint was left. */
  const attempt = (
    endpoint: string,
    event: string,
    outcome: number | "lost" | "lost with its answer",
    counters: Counters
  ) => {
    second += 1
    const row = deliveries.find((one) => one.endpoint === endpoint && one.event === event)!
    if (outcome !== "lost") seen(endpoint, row.body!, typeof outcome === "number" ? outcome : 204)
    const made = {
      at: String(BigInt(second) * 1_000_000_000n + 5n),
      durationMs: 1,
      ...(typeof outcome === "number" ? { status: outcome } : { error: "worker_lost" })
    }
    const before: Array<object> = row.attempts === null ? [] : JSON.parse(row.attempts!).value
    row.attempts = JSON.stringify({ schema: 1, value: [...before, made] })
    if (outcome === 204) row.state = "delivered"
    else if (before.length === 8) row.state = "exhausted"
    put(endpoint, counters)
    line({
      kind: "attempts",
      endpoint,
      delivery: row.delivery!,
      event,
      state: row.state!,
      generation: String(counters.generation ?? 0),
      record: row.attempts
    })
  }
  const input = (): WebhookAuditInput => ({
    endpoints: [...endpoints.values()],
    requests,
    tables: { events, lines, deliveries, endpoints: [...rows.values()] }
  })
  return { register, remove, happen, attempt, put, input }
}

const soundRecords = (): WebhookAuditInput => {
  const { attempt, happen, input, put, register, remove } = newRecords()
  for (const id of ["whe_good", "whe_dead", "whe_gone"]) register(id, "org_a")
  register("whe_other", "org_b")
  happen("evt_1", "org_a", ["whe_good", "whe_dead", "whe_gone"])
  happen("evt_2", "org_b", ["whe_other"])
  attempt("whe_good", "evt_1", "lost", {})
  attempt("whe_good", "evt_1", "lost with its answer", {})
  attempt("whe_good", "evt_1", 500, { failed: 1 })
  attempt("whe_good", "evt_1", 204, {})
  attempt("whe_other", "evt_2", 204, {})
  attempt("whe_gone", "evt_1", 503, { failed: 1 })
  remove("whe_gone", { failed: 1 })
  happen("evt_3", "org_a", ["whe_good", "whe_dead"])
  happen("evt_4", "org_a", ["whe_good", "whe_dead"])
  attempt("whe_good", "evt_3", 204, {})
  attempt("whe_good", "evt_4", 204, {})
  for (let failed = 1; failed <= 20; failed++) {
    const event = failed <= 9 ? "evt_1" : failed <= 18 ? "evt_3" : "evt_4"
    const exhausted = Math.floor(failed / 9)
    attempt("whe_dead", event, 500, { failed, exhausted, status: failed < 20 ? "active" : "disabled" })
  }
  put("whe_dead", { generation: 1 })
  attempt("whe_dead", "evt_4", 204, { generation: 1 })
  register("whe_late", "org_a")
  return input()
}

const checksOf = (faults: ReadonlyArray<string>) => new Set(faults.map((fault) => fault.split(": ")[0]))

describe("the auditor of webhooks", () => {
  it("finds nothing in a run without faults", () => {
    const { faults, lost } = auditWebhooks(soundRecords())
    assert.deepStrictEqual(faults, [])
    assert.deepStrictEqual(lost, { all: 2, taken: 1 })
  })

  it("has a planted fault for each of its checks", () => {
    const { counts } = auditWebhooks(soundRecords())
    const planted = new Set([...PLANTED_WEBHOOK_FAULTS.values()].map(({ check }) => check))
    assert.deepStrictEqual([...planted].sort(), [...counts.keys()].sort())
  })

  for (const [name, { check, plant }] of PLANTED_WEBHOOK_FAULTS) {
    it(`finds ${name}`, () => {
      const planted = plant(soundRecords())
      assert.isDefined(planted)
      assert.include(checksOf(auditWebhooks(planted!).faults), check)
    })
  }
})
