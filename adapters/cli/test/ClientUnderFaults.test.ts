import { assert, describe, it } from "@effect/vitest"
import {
  type Authorization,
  type Client,
  createClient,
  type Execution,
  type Mandate,
  type MandateInput,
  type Run,
  type RunOutcome,
  type StoredOpening,
  SvcError
} from "@svc/client"
import { Effect } from "effect"
import * as fc from "fast-check"
import { type Fault, fault, faultyConnection } from "./FaultyConnection.ts"
import { startService, type Tenant } from "./ServiceUnderTest.ts"

const RUNS = Number(process.env.FC_RUNS ?? 25)
const seed = process.env.FC_SEED === undefined ? {} : { seed: Number(process.env.FC_SEED) }

const ATTEMPT_MILLISECONDS = 500
const MAX_AMOUNT = 5000
/** A subject's browser keeps a cookie of each approval, and a request has room for so many. */
const MANDATES_PER_SUBJECT = 50

/** What the provider does when it is asked, and what the run makes of that. */
const CONDUCTS = ["accepts", "refuses", "fails", "accepts, then fails", "leaves it open"] as const

interface Order {
  readonly amount: number
  readonly conduct: (typeof CONDUCTS)[number]
  readonly isRefunded: boolean
}

const order: fc.Arbitrary<Order> = fc.record({
  amount: fc.constantFrom(100, 4200, MAX_AMOUNT, MAX_AMOUNT + 1),
  conduct: fc.constantFrom(...CONDUCTS),
  isRefunded: fc.boolean()
})

interface Plan {
  readonly orders: ReadonlyArray<Order>
  readonly isRevoked: boolean
  readonly faults: ReadonlyArray<Fault>
}

const plan: fc.Arbitrary<Plan> = fc.record({
  orders: fc.array(order, { minLength: 1, maxLength: 4 }),
  isRevoked: fc.constantFrom(true, false, false),
  faults: fc.array(fault, { minLength: 5, maxLength: 60 })
})

const isAllowed = ({ amount }: Order): boolean => amount <= MAX_AMOUNT

/** Repeats a write under its key until it is answered, as a caller does that wants to know. */
const insist = async <A>(write: (idempotencyKey: string | undefined) => Promise<A>): Promise<A> => {
  let key: string | undefined
  for (;;) {
    try {
      return await write(key)
    } catch (error) {
      if (!(error instanceof SvcError && error.retryable)) throw error
      key = error.idempotencyKey ?? key
    }
  }
}

/** A caller with its own records: the openings it stored, and what its provider was asked for. */
const makeCaller = (tenant: Tenant, apiPort: number, faults: ReadonlyArray<Fault>) => {
  const openings = new Map<string, StoredOpening>()
  const accepted = new Set<string>()
  const asked: Array<string> = []
  const faultsOfClient: Array<string> = []

  const connection = faultyConnection(faults, (_, { body, method }) => {
    const { commitment } = typeof body === "string" ? JSON.parse(body) : {}
    if (method === "POST" && commitment !== undefined && !openings.has(commitment)) {
      faultsOfClient.push(`${commitment} was sent before its opening was stored`)
    }
  })
  const svc = createClient({
    baseUrl: `http://127.0.0.1:${apiPort}`,
    apiKey: tenant.key,
    fetch: connection.fetch,
    timeout: ATTEMPT_MILLISECONDS,
    retries: 2,
    backoff: { initial: 1, max: 4 }
  })

  const propose = (mandateId: string, external_reference: string, amount: number): Promise<Authorization> => {
    let stored: StoredOpening | undefined
    const input = {
      external_reference,
      proposed_action: { action: "card.create", payment: { amount, currency: "EUR" } },
      execution_window_seconds: 900
    }
    return insist(() => {
      if (stored !== undefined) {
        const { commitment, idempotencyKey } = stored
        return svc.authorizations.propose(mandateId, { ...input, commitment }, { idempotencyKey })
      }
      const storeOpening = async (opening: StoredOpening) => {
        await Promise.resolve()
        openings.set(opening.commitment, opening)
        stored = opening
      }
      return svc.authorizations.propose(mandateId, input, { storeOpening })
    })
  }

  /** What the server says at the moment of a run, over a connection without faults. */
  const checkGate = async ({ authorization }: Run): Promise<void> => {
    const current = await Effect.runPromise(tenant.get(`/v1/authorizations/${authorization.id}`))
    const isOpen =
      current.decision === "ALLOW" &&
      current.state === "RESERVED" &&
      current.can_execute === true &&
      Date.now() < Date.parse(current.execute_before)
    if (!isOpen) faultsOfClient.push(`${authorization.id} was run while ${current.state}`)
  }

  const runWith =
    ({ conduct }: Order) =>
    async (run: Run): Promise<RunOutcome> => {
      await checkGate(run)
      const reference = run.externalActionReference
      asked.push(reference)
      if (conduct.startsWith("accepts")) accepted.add(reference)
      switch (conduct) {
        case "accepts":
          return { outcome: "accepted", provider_transaction_reference: `txn-${reference}` }
        case "refuses":
          return {
            outcome: "refused",
            reason: "EXECUTOR_REJECTED",
            execution_disposition: "NEVER_BECAME_POSSIBLE"
          }
        case "leaves it open":
          return { outcome: "uncertain" }
        default:
          throw new Error("the provider's answer was lost")
      }
    }

  const execute = (authorization: Authorization, of: Order): Promise<Execution> =>
    insist(() =>
      svc.execute(authorization, runWith(of), {
        opening: openings.get(authorization.commitment)?.opening ?? ""
      })
    )

  return { accepted, asked, connection, execute, faultsOfClient, openings, propose, svc }
}

type Caller = ReturnType<typeof makeCaller>

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "done",
    (error) => (error instanceof SvcError ? error.code : error)
  )

/** Takes an execution to its end, as the reconciliation says. */
const settle = async (caller: Caller, execution: Execution): Promise<void> => {
  if (execution.outcome !== "uncertain") return
  const { authorization, reconciliation } = execution
  const { externalActionReference, report } = reconciliation
  if (report !== undefined) {
    assert.strictEqual(reconciliation.because, "report_unanswered")
    await insist(() => caller.svc.repeatReport(report))
    return
  }
  const current = await insist(() => caller.svc.authorizations.get(authorization.id))
  assert.strictEqual(current.state, "RESERVED", "an uncertain run was reported")
  if (reconciliation.because === "run_uncertain") return
  if (caller.accepted.has(externalActionReference)) {
    const input = {
      external_action_reference: externalActionReference,
      provider_transaction_reference: `txn-${externalActionReference}`,
      reported_accepted_at: new Date().toISOString(),
      commitment_opening: caller.openings.get(authorization.commitment)?.opening ?? ""
    }
    await insist((idempotencyKey) =>
      caller.svc.authorizations.commit(authorization.id, input, { idempotencyKey })
    )
    return
  }
  const reason = { reason: "EXECUTION_FAILED", execution_disposition: "NEVER_BECAME_POSSIBLE" } as const
  await insist((idempotencyKey) =>
    caller.svc.authorizations.cancel(authorization.id, reason, { idempotencyKey })
  )
}

const refund = (svc: Client, id: string): Promise<unknown> => {
  const input = {
    amount: 10,
    currency: "EUR",
    provider_refund_reference: `rfd-${id}`,
    reported_refunded_at: new Date().toISOString()
  }
  return insist((idempotencyKey) => svc.authorizations.reportRefund(id, input, { idempotencyKey }))
}

const expectedState = (of: Order, isRevoked: boolean): string => {
  if (!isAllowed(of)) return "DENIED"
  if (isRevoked || of.conduct === "leaves it open") return "RESERVED"
  return of.conduct.startsWith("accepts") ? "COMMITTED" : "CANCELLED"
}

const referenceOf = (index: number): string => `order-${index}`

const follow = async (caller: Caller, mandate: Mandate, { isRevoked, orders }: Plan): Promise<void> => {
  const proposed = await Promise.all(
    orders.map(({ amount }, index) => caller.propose(mandate.id, referenceOf(index), amount))
  )
  if (isRevoked) {
    await insist((idempotencyKey) =>
      caller.svc.mandates.revoke(mandate.id, { reason: "It was only a try." }, { idempotencyKey })
    )
  }
  await Promise.all(
    orders.map(async (of, index) => {
      const authorization = proposed[index]!
      if (isRevoked || !isAllowed(of)) {
        assert.strictEqual(await codeOf(caller.execute(authorization, of)), "execution_not_allowed")
        return
      }
      await settle(caller, await caller.execute(authorization, of))
      const again = await codeOf(caller.execute(authorization, of))
      assert.include(["execution_not_allowed", "execution_repeated"], again)
      if (of.isRefunded && of.conduct.startsWith("accepts")) await refund(caller.svc, authorization.id)
    })
  )
}

const count = <A>(items: ReadonlyArray<A>, is: (item: A) => boolean): number => items.filter(is).length

/** What the service has on record afterwards, read without faults, is what was meant to happen, once. */
const audit = async (tenant: Tenant, caller: Caller, mandate: Mandate, { isRevoked, orders }: Plan) => {
  const read = (path: string) => Effect.runPromise(tenant.get(path))
  const { data } = await read(`/v1/mandates/${mandate.id}/authorizations?limit=100`)
  const recorded = data as ReadonlyArray<Authorization>
  const states = orders.map((_, index) =>
    recorded
      .filter(({ external_reference }) => external_reference === referenceOf(index))
      .map(({ state }) => state as string)
  )
  assert.deepStrictEqual(
    states,
    orders.map((of) => [expectedState(of, isRevoked)])
  )
  assert.lengthOf(recorded, orders.length)

  const ends = orders.map((of) => expectedState(of, isRevoked))
  const refunds = count(orders, (of) => of.isRefunded && expectedState(of, isRevoked) === "COMMITTED")
  const types = await Effect.runPromise(tenant.eventTypes(mandate.id))
  const occurrences = (type: string) => count(types, (other) => other === type)
  assert.strictEqual(occurrences("authorization.reserved"), count(orders, isAllowed))
  assert.strictEqual(
    occurrences("authorization.committed"),
    count(ends, (state) => state === "COMMITTED")
  )
  assert.strictEqual(
    occurrences("authorization.cancelled"),
    count(ends, (state) => state === "CANCELLED")
  )
  assert.strictEqual(occurrences("authorization.refund_reported"), refunds)
  assert.strictEqual(occurrences("authorization.outcome_conflict"), 0)
  assert.strictEqual(occurrences("mandate.revoked"), isRevoked ? 1 : 0)

  const executed = recorded.filter(({ state }) => state === "COMMITTED")
  const { usage } = await read(`/v1/mandates/${mandate.id}`)
  assert.strictEqual(
    usage.committed_amount,
    executed.reduce((sum, { proposed_action }) => sum + proposed_action.payment.amount, 0)
  )
  assert.sameMembers(
    executed.map(({ id }) => id),
    [...caller.accepted]
  )
  assert.lengthOf(new Set(caller.asked), caller.asked.length, "the provider was asked twice")
  assert.lengthOf(caller.asked, isRevoked ? 0 : count(orders, isAllowed))
  assert.deepStrictEqual(caller.faultsOfClient, [])
}

const idsOf = async (items: AsyncIterable<{ readonly id: string }>): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for await (const { id } of items) ids.push(id)
  return ids
}

const RECURRING = {
  kind: "RECURRING",
  policy: {
    currency: "EUR",
    max_amount: MAX_AMOUNT,
    allowed_actions: ["card.create"],
    periods: [{ unit: "MONTH", max_amount: 1_000_000 }]
  }
}

describe("the client over a connection that drops, delays, repeats and cuts", () => {
  it.live("does everything once, loses nothing, and runs nothing whose gate is shut", () =>
    Effect.gen(function* () {
      const { apiPort, tenant } = yield* startService()
      let mandates = 0
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(plan, async (drawn) => {
            const subject_reference = `subject-${Math.floor(mandates / MANDATES_PER_SUBJECT)}`
            mandates += 1
            const mandate = await Effect.runPromise(tenant.activeMandate({ ...RECURRING, subject_reference }))
            const caller = makeCaller(tenant, apiPort, drawn.faults)
            await follow(caller, mandate, drawn)
            await caller.connection.settle()
            await audit(tenant, caller, mandate, drawn)
          }),
          { numRuns: RUNS, ...seed }
        )
      )
    })
  )

  it.live("creates one mandate for each call, and lists each once", () =>
    Effect.gen(function* () {
      const { apiPort, tenant } = yield* startService()
      const input = (yield* tenant.mandateBody()) as MandateInput
      let subjects = 0
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(fault, { minLength: 5, maxLength: 20 }), async (faults) => {
            const { connection, svc } = makeCaller(tenant, apiPort, faults)
            subjects += 1
            const subject_reference = `subject-${subjects}`
            const created = await Promise.all(
              Array.from({ length: 3 }, () =>
                insist((idempotencyKey) =>
                  svc.mandates.create({ ...input, subject_reference }, { idempotencyKey })
                )
              )
            )
            await connection.settle()
            const listed = await insist(() => idsOf(svc.mandates.list({ subject_reference, limit: 1 })))
            assert.sameMembers(
              [...listed],
              created.map(({ id }) => id)
            )
          }),
          { numRuns: Math.ceil(RUNS / 2), ...seed }
        )
      )
    })
  )

  it.live("registers a webhook endpoint once, rotates its secret, and deletes it", () =>
    Effect.gen(function* () {
      const { apiPort, tenant } = yield* startService()
      const list = () => Effect.runPromise(tenant.get("/v1/webhook-endpoints"))
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(fault, { minLength: 5, maxLength: 20 }), async (faults) => {
            const { connection, svc } = makeCaller(tenant, apiPort, faults)
            const input = { url: "http://127.0.0.1:9999/hook" }
            const { id } = await insist((idempotencyKey) => svc.webhooks.create(input, { idempotencyKey }))
            const rotated = await insist((idempotencyKey) =>
              svc.webhooks.rotateSecret(id, { idempotencyKey })
            )
            assert.strictEqual(rotated.id, id)
            assert.deepStrictEqual(
              (await list()).data.map((endpoint: { readonly id: string }) => endpoint.id),
              [id]
            )
            await insist((idempotencyKey) => svc.webhooks.delete(id, { idempotencyKey }))
            await connection.settle()
            assert.deepStrictEqual((await list()).data, [])
          }),
          { numRuns: Math.ceil(RUNS / 2), ...seed }
        )
      )
    })
  )
})
