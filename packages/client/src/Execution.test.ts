import { assert, describe, it } from "@effect/vitest"
import { json, lost, optionsOf, problem, type Step, scriptedFetch } from "../test/ScriptedFetch.ts"
import { type BegunExecutions, makeBegunExecutions, makeExecutor } from "./Execution.ts"
import {
  type Authorization,
  type Client,
  type CommitInput,
  createClient,
  createCommitment,
  type Execution,
  type Run,
  type RunOutcome,
  SvcError
} from "./index.ts"

const ID = "aut_01kbcd2e3f4g5h6j7k8m9npqrs"
const FAR = "2999-01-01T00:00:00.000000000Z"

const { commitment, opening } = await createCommitment()

const RESERVED: Authorization = {
  id: ID,
  mandate_id: "mnd_01kbcd2e3f4g5h6j7k8m9npqrs",
  external_reference: "order-1",
  decision: "ALLOW",
  reasons: [],
  state: "RESERVED",
  can_execute: true,
  execute_before: FAR,
  proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
  commitment,
  created_at: "2026-12-01T09:00:00.000000000Z"
}

const ACCEPTED: RunOutcome = {
  outcome: "accepted",
  provider_transaction_reference: "txn_7001",
  reported_accepted_at: "2026-12-01T09:05:00Z"
}

const clientOf = (...steps: ReadonlyArray<Step>) => {
  const { fetch, sent } = scriptedFetch(...steps)
  return { sent, svc: createClient({ ...optionsOf(fetch), retries: 1 }) }
}

/** A run that says the same each time, and counts. */
const runOf = (outcome: unknown) => {
  const runs: Array<Run> = []
  const run = async (given: Run): Promise<RunOutcome> => {
    runs.push(given)
    if (outcome instanceof Error) throw outcome
    return outcome as RunOutcome
  }
  return { run, runs }
}

const refusalOf = async (execution: Promise<Execution>): Promise<SvcError> => {
  const refusal = await execution.then(
    ({ outcome }) => outcome,
    (error) => error
  )
  assert.instanceOf(refusal, SvcError)
  return refusal
}

const reconciliationOf = (execution: Execution) => {
  if (execution.outcome !== "uncertain") throw new Error(`it is ${execution.outcome}`)
  return execution.reconciliation
}

const other = await createCommitment()

/** Each changes one thing about an answer that lets the action be executed. */
const SHUT: ReadonlyArray<readonly [what: string, change: object]> = [
  ["the decision is DENY", { decision: "DENY" }],
  ["the decision is INDETERMINATE", { decision: "INDETERMINATE" }],
  ["the decision is one to come", { decision: "ALLOW_LATER" }],
  ["there is no decision", { decision: undefined }],
  ["it is committed", { state: "COMMITTED" }],
  ["it is cancelled", { state: "CANCELLED" }],
  ["it is expired", { state: "EXPIRED" }],
  ["it has no state", { state: undefined }],
  ["it cannot be executed", { can_execute: false }],
  ["can_execute is a text", { can_execute: "true" }],
  ["can_execute is a number", { can_execute: 1 }],
  ["there is no can_execute", { can_execute: undefined }],
  ["the deadline has passed", { execute_before: "2026-01-01T00:00:00.000000000Z" }],
  ["there is no deadline", { execute_before: undefined }],
  ["the deadline cannot be read", { execute_before: "soon" }],
  ["the deadline is a number", { execute_before: 32_503_680_000_000 }],
  ["the answer is about another one", { id: "aut_01kbcd2e3f4g5h6j7k8m9npqrt" }],
  ["the opening is of another commitment", { commitment: other.commitment }],
  ["there is no commitment", { commitment: undefined }]
]

describe("the execution gate (part 5)", () => {
  it.each(SHUT)("is shut while %s: nothing runs, and nothing is reported", async (_, change) => {
    const { sent, svc } = clientOf(json({ ...RESERVED, ...change }))
    const { run, runs } = runOf(ACCEPTED)
    const refusal = await refusalOf(svc.execute(RESERVED, run, { opening }))
    assert.strictEqual(refusal.code, "execution_not_allowed")
    assert.strictEqual(refusal.resourceId, ID)
    assert.deepStrictEqual([runs.length, sent.length], [0, 1])
  })

  it("names every condition that does not hold, and the reasons of the decision", async () => {
    const reasons = [{ code: "MANDATE_REVOKED", pointer: "", detail: "It was revoked." }]
    const denied = { ...RESERVED, decision: "DENY", state: "DENIED", can_execute: false, reasons }
    const { svc } = clientOf(json(denied))
    const refusal = await refusalOf(svc.execute(ID, runOf(ACCEPTED).run, { opening }))
    assert.strictEqual(
      refusal.message,
      `${ID} may not be executed: decision is DENY (MANDATE_REVOKED); state is DENIED; can_execute is false`
    )
    assert.strictEqual(refusal.currentState, "DENIED")
  })

  it.each([
    ["there is no answer", [lost, lost], "network_error"],
    [
      "the service is unavailable",
      [problem(503, "store_unavailable"), problem(503, "store_unavailable")],
      "store_unavailable"
    ],
    ["there is no such authorization", [problem(404, "not_found")], "not_found"],
    ["the answer cannot be read", [new Response("{"), new Response("<html>")], "unexpected_response"]
  ] as const)("is shut while %s", async (_, steps, code) => {
    const { svc } = clientOf(...steps)
    const { run, runs } = runOf(ACCEPTED)
    assert.strictEqual((await refusalOf(svc.execute(RESERVED, run, { opening }))).code, code)
    assert.lengthOf(runs, 0)
  })

  it("is asked of the service, whatever the caller holds", async () => {
    const { svc } = clientOf(json({ ...RESERVED, can_execute: false }))
    const { run, runs } = runOf(ACCEPTED)
    await refusalOf(svc.execute(RESERVED, run, { opening }))
    assert.lengthOf(runs, 0)
  })

  it("is not asked without an opening, or for one that was aborted", async () => {
    const { sent, svc } = clientOf(json(RESERVED))
    const { run, runs } = runOf(ACCEPTED)
    const without = svc.execute(RESERVED, run, { opening: undefined as never })
    assert.strictEqual((await refusalOf(without)).code, "invalid_argument")
    const late = svc.execute(RESERVED, run, { opening, signal: AbortSignal.abort() })
    assert.strictEqual((await refusalOf(late)).code, "aborted")
    const gone = new Error("the vault is closed")
    const failed = svc.execute(RESERVED, run, { opening: () => Promise.reject(gone) })
    assert.strictEqual(await failed.catch((error) => error), gone)
    assert.deepStrictEqual([runs.length, sent.length], [0, 0])
  })
})

describe("an execution", () => {
  it("runs once with what the service said, and commits what was accepted", async () => {
    const committed = { ...RESERVED, state: "COMMITTED", can_execute: false }
    const { sent, svc } = clientOf(json(RESERVED), json(committed))
    const { run, runs } = runOf(ACCEPTED)
    const execution = await svc.execute(RESERVED, run, { opening: async () => opening })
    assert.deepStrictEqual(execution, { outcome: "committed", authorization: committed as never })
    assert.lengthOf(runs, 1)
    assert.deepStrictEqual(runs[0]?.authorization, RESERVED)
    assert.strictEqual(runs[0]?.externalActionReference, ID)
    assert.deepStrictEqual(
      sent.map(({ method, url }) => `${method} ${url.pathname}`),
      [`GET /prefix/v1/authorizations/${ID}`, `PUT /prefix/v1/authorizations/${ID}/commit`]
    )
    assert.deepStrictEqual(sent[1]?.body, {
      external_action_reference: ID,
      provider_transaction_reference: "txn_7001",
      reported_accepted_at: "2026-12-01T09:05:00Z",
      commitment_opening: opening
    })
  })

  it.each([
    ["an hour behind the service", "2026-12-01T08:00:00.000Z", RESERVED.created_at, RESERVED.created_at],
    [
      "in the same millisecond",
      "2026-12-01T09:00:00.000Z",
      "2026-12-01T09:00:00.000900000Z",
      "2026-12-01T09:00:00.000900000Z"
    ],
    [
      "a millisecond later",
      "2026-12-01T09:00:00.001Z",
      "2026-12-01T09:00:00.000900000Z",
      "2026-12-01T09:00:00.001Z"
    ]
  ])(
    "is accepted when the run says so, but not before it was authorized, by a clock %s",
    async (_, now, created_at, expected) => {
      const reserved = { ...RESERVED, created_at }
      const { fetch, sent } = scriptedFetch(json(reserved), json({ ...reserved, state: "COMMITTED" }))
      const { authorizations } = createClient(optionsOf(fetch))
      const execute = makeExecutor(authorizations, { now: () => Date.parse(now) })
      await execute(ID, runOf({ ...ACCEPTED, reported_accepted_at: undefined }).run, { opening })
      assert.strictEqual((sent[1]?.body as CommitInput | undefined)?.reported_accepted_at, expected)
    }
  )

  it("cancels what was refused, with what the run says of it", async () => {
    const cancelled = { ...RESERVED, state: "CANCELLED", can_execute: false }
    const { sent, svc } = clientOf(json(RESERVED), json(cancelled))
    const refusal = {
      reason: "EXECUTOR_REJECTED",
      execution_disposition: "NO_LONGER_POSSIBLE",
      external_credential_reference: "card_311"
    } as const
    const { run } = runOf({ outcome: "refused", ...refusal })
    const execution = await svc.execute(RESERVED, run, { opening })
    assert.deepStrictEqual(execution, { outcome: "cancelled", authorization: cancelled as never })
    assert.strictEqual(sent[1]?.url.pathname, `/prefix/v1/authorizations/${ID}/cancellation`)
    assert.deepStrictEqual(sent[1]?.body, refusal)
  })

  it.each([
    ["throws", new Error("socket hang up"), "run_failed"],
    ["says that it does not know", { outcome: "uncertain" }, "run_uncertain"],
    ["returns nothing", undefined, "run_uncertain"],
    ["returns null", null, "run_uncertain"],
    ["returns true", true, "run_uncertain"],
    ["returns another outcome", { outcome: "ACCEPTED" }, "run_uncertain"]
  ] as const)("whose run %s reports nothing, and says how to go on", async (_, outcome, because) => {
    const { sent, svc } = clientOf(json(RESERVED))
    const { run, runs } = runOf(outcome)
    const execution = await svc.execute(RESERVED, run, { opening, externalActionReference: "order-1" })
    const reconciliation = reconciliationOf(execution)
    assert.strictEqual(reconciliation.because, because)
    assert.strictEqual(reconciliation.externalActionReference, "order-1")
    assert.match(reconciliation.steps, /^Run nothing again\. Ask your provider/u)
    assert.isUndefined(reconciliation.report)
    if (outcome instanceof Error) assert.strictEqual(reconciliation.cause, outcome)
    assert.deepStrictEqual([runs.length, sent.length], [1, 1])
  })

  it("that takes too long is uncertain, its signal aborted", async () => {
    const { sent, svc } = clientOf(json(RESERVED))
    let signal: AbortSignal | undefined
    const run = (given: Run) => {
      signal = given.signal
      return new Promise<RunOutcome>(() => {})
    }
    const execution = await svc.execute(RESERVED, run, { opening, runTimeout: 1 })
    assert.strictEqual(reconciliationOf(execution).because, "run_timed_out")
    assert.isTrue(signal?.aborted)
    assert.lengthOf(sent, 1)
  })

  it("lets its run know when execute_before has come, and waits for it", async () => {
    const soon = () => json({ ...RESERVED, execute_before: new Date(Date.now() + 1000).toISOString() })
    const { svc } = clientOf(soon, json({ ...RESERVED, state: "COMMITTED" }))
    const run = ({ signal }: Run) =>
      new Promise<RunOutcome>((resolve) => signal.addEventListener("abort", () => resolve(ACCEPTED)))
    assert.strictEqual((await svc.execute(RESERVED, run, { opening })).outcome, "committed")
  })

  it("reports what happened even if its caller has given up meanwhile", async () => {
    const { sent, svc } = clientOf(json(RESERVED), json({ ...RESERVED, state: "COMMITTED" }))
    const controller = new AbortController()
    const run = async ({ signal }: Run): Promise<RunOutcome> => {
      controller.abort()
      assert.isTrue(signal.aborted)
      return ACCEPTED
    }
    const execution = await svc.execute(RESERVED, run, { opening, signal: controller.signal })
    assert.deepStrictEqual([execution.outcome, sent.length], ["committed", 2])
  })

  it("whose report is not answered hands it over, to be sent again as it was", async () => {
    const { sent, svc } = clientOf(json(RESERVED), lost, lost, json({ ...RESERVED, state: "COMMITTED" }))
    const reconciliation = reconciliationOf(await svc.execute(RESERVED, runOf(ACCEPTED).run, { opening }))
    assert.strictEqual(reconciliation.because, "report_unanswered")
    const kept = JSON.parse(JSON.stringify(reconciliation.report))
    assert.strictEqual((await svc.repeatReport(kept)).state, "COMMITTED")
    const reports = sent.slice(1)
    assert.lengthOf(reports, 3)
    assert.lengthOf(new Set(reports.map(({ headers }) => headers.get("idempotency-key"))), 1)
    assert.lengthOf(new Set(reports.map(({ body }) => JSON.stringify(body))), 1)
  })

  it("whose report a service does not take, since it is closed for good, hands it over, too", async () => {
    const closed = problem(503, "store_unavailable", { retryable: false })
    const { svc } = clientOf(json(RESERVED), closed)
    const reconciliation = reconciliationOf(await svc.execute(RESERVED, runOf(ACCEPTED).run, { opening }))
    assert.strictEqual(reconciliation.because, "report_unanswered")
  })

  it.each([
    [409, "terminal_state_conflict"],
    [422, "validation_failed"],
    [401, "api_key_invalid"]
  ])("whose report is refused with %d %s says so", async (status, code) => {
    const { svc } = clientOf(json(RESERVED), problem(status, code))
    const reconciliation = reconciliationOf(await svc.execute(RESERVED, runOf(ACCEPTED).run, { opening }))
    assert.strictEqual(reconciliation.because, "report_refused")
    assert.strictEqual((reconciliation.cause as SvcError).code, code)
    assert.strictEqual(reconciliation.report?.kind, "commit")
  })
})

describe("an authorization", () => {
  const again = (svc: Client, run: (run: Run) => Promise<RunOutcome>) =>
    svc.execute(RESERVED, run, { opening })

  it("is run once, though a read that began before its commit is answered after it", async () => {
    let release: (response: Response) => void = () => undefined
    const late = new Promise<Response>((resolve) => {
      release = resolve
    })
    let reads = 0
    const svc = createClient({
      ...optionsOf(async (_url, { method }) => {
        if (method !== "GET") return json({ ...RESERVED, state: "COMMITTED", can_execute: false })
        reads += 1
        return reads === 1 ? json(RESERVED) : late
      }),
      retries: 0
    })
    const { run, runs } = runOf(ACCEPTED)
    // Either of the two may be the first to read.
    const both = [0, 1].map(() =>
      svc.execute(ID, run, { opening }).then(
        ({ outcome }) => outcome,
        ({ code }) => code
      )
    )
    assert.strictEqual(await Promise.race(both), "committed")
    release(json(RESERVED))
    assert.sameMembers(await Promise.all(both), ["committed", "execution_repeated"])
    assert.lengthOf(runs, 1)
  })

  it("begins only with what can be reported, and with what can be run", async () => {
    const { sent, svc } = clientOf()
    const { run, runs } = runOf(ACCEPTED)
    const texts = ["", "x".repeat(256), "\ud800", "order-\udc00", "\udc00\ud800", "order\u0000"]
    for (const externalActionReference of [...texts, 4711, null, {}]) {
      const refusal = await refusalOf(svc.execute(ID, run, { opening, externalActionReference } as never))
      assert.strictEqual(refusal.code, "invalid_argument")
    }
    for (const none of [undefined, "run", {}])
      assert.strictEqual(
        (await refusalOf(svc.execute(ID, none as never, { opening }))).code,
        "invalid_argument"
      )
    const signal = new AbortController() as never
    assert.strictEqual((await refusalOf(svc.execute(ID, run, { opening, signal }))).code, "invalid_argument")
    for (const [options, words] of [
      [undefined, "execute takes options"],
      [{ openning: opening }, 'execute has no option "openning"; it takes opening,']
    ] as const) {
      const { code, message } = await refusalOf(svc.execute(ID, run, options as never))
      assert.strictEqual(code, "invalid_argument")
      assert.include(message, words)
    }
    assert.deepStrictEqual([sent.length, runs.length], [0, 0])
  })

  it("is not begun while its opening is still fetched when the time or the signal of the call ends it", async () => {
    const { sent, svc } = clientOf()
    const { run, runs } = runOf(ACCEPTED)
    const fetched = { opening: () => new Promise<never>(() => {}) }
    const late = await refusalOf(svc.execute(ID, run, { ...fetched, timeout: 1 }))
    assert.deepStrictEqual([late.code, late.retryable], ["timeout", true])
    const controller = new AbortController()
    const waiting = refusalOf(svc.execute(ID, run, { ...fetched, signal: controller.signal }))
    controller.abort()
    assert.strictEqual((await waiting).code, "aborted")
    assert.deepStrictEqual([sent.length, runs.length], [0, 0])
  })

  it("is run once by a client, though its outcome is uncertain", async () => {
    const { svc } = clientOf(json(RESERVED), json(RESERVED))
    const { run, runs } = runOf({ outcome: "uncertain" })
    await again(svc, run)
    assert.strictEqual((await refusalOf(again(svc, run))).code, "execution_repeated")
    assert.lengthOf(runs, 1)
  })

  it("is run once by a client that is told to twice at a time", async () => {
    const { svc } = clientOf(...Array.from({ length: 3 }, () => json(RESERVED)))
    const { run, runs } = runOf({ outcome: "uncertain" })
    const executions = await Promise.allSettled([again(svc, run), again(svc, run), again(svc, run)])
    assert.lengthOf(
      executions.filter(({ status }) => status === "fulfilled"),
      1
    )
    assert.lengthOf(runs, 1)
  })

  it("whose gate was shut may be executed once that opens", async () => {
    const { svc } = clientOf(lost, lost, json(RESERVED), json({ ...RESERVED, state: "COMMITTED" }))
    const { run, runs } = runOf(ACCEPTED)
    await refusalOf(again(svc, run))
    assert.strictEqual((await again(svc, run)).outcome, "committed")
    assert.lengthOf(runs, 1)
  })
})

describe("what was begun", () => {
  const OVER = 10
  const OPEN = 1000
  const NOW = 20

  /** Adds so many, and says which of the earlier ones are still kept in mind. */
  const adding = (begun: BegunExecutions, name: string, count: number, until: number) => {
    const ids = Array.from({ length: count }, (_, at) => `${name}_${at}`)
    for (const id of ids) begun.add(id, until, NOW)
    return () => ids.filter((id) => begun.has(id)).length
  }

  it("is forgotten when it is over and 1024 are kept in mind, and not before; what is open never is", () => {
    const begun = makeBegunExecutions()
    const over = adding(begun, "over", 1000, OVER)
    const open = adding(begun, "open", 24, OPEN)
    assert.deepStrictEqual([over(), open()], [1000, 24])
    begun.add("one more", OPEN, NOW)
    assert.deepStrictEqual([over(), open(), begun.has("one more")], [0, 24, true])
  })

  it("is looked through again only when there are twice as many as were left", () => {
    const begun = makeBegunExecutions()
    const open = adding(begun, "open", 1500, OPEN)
    // The sweep at 1024 left them all, so that the next is at 2048.
    const over = adding(begun, "over", 548, OVER)
    assert.deepStrictEqual([open(), over()], [1500, 548])
    begun.add("one more", OPEN, NOW)
    assert.deepStrictEqual([open(), over()], [1500, 0])
  })
})
