import { createHash } from "node:crypto"
import { makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
import type { Tenant } from "./DeploymentFolder.ts"
import { makeEndUser } from "./EndUser.ts"
import {
  type Answer,
  count,
  type Json,
  type RetryingClient,
  retryingClient,
  type SoakLog
} from "./RetryingClient.ts"
import type { SeededRandom } from "./SeededRandom.ts"
import type { FleetServer } from "./ServerFleet.ts"

const MANDATES = "/v1/mandates"
const SESSIONS = "/v1/mandates/{mandate_id}/approval-sessions"
const REVOCATION = "/v1/mandates/{mandate_id}/revocation"
const AUTHORIZATIONS = "/v1/mandates/{mandate_id}/authorizations"
const COMMIT = "/v1/authorizations/{authorization_id}/commit"
const CANCELLATION = "/v1/authorizations/{authorization_id}/cancellation"
const REFUNDS = "/v1/authorizations/{authorization_id}/refunds"

const FIRST_MANDATES = 16
/** Proposals go to this many of the newest mandates, and to the first one of all, which is hot. */
const CURRENT_MANDATES = 24
const IDENTICAL_REQUESTS = 64
const APPROVAL_ATTEMPTS = 40
const MAX_AMOUNT = 5000
const DAY_MILLISECONDS = 86_400_000

interface Approved {
  readonly id: string
  readonly kind: "SINGLE" | "RECURRING"
}

interface Reserved {
  readonly id: string
  readonly amount: number
  readonly reference: string
  readonly opening: string
}

/** What clients share: resources that one made and another uses. */
export interface SoakWorld {
  readonly log: SoakLog
  /** Mandates whose approval was acknowledged. */
  readonly approved: Array<string>
  readonly mandates: Array<Approved>
  readonly open: Array<Reserved>
  readonly committed: Array<Reserved>
  readonly closed: Array<{ readonly reserved: Reserved; readonly state: "COMMITTED" | "CANCELLED" }>
  done: number
}

export const newWorld = (): SoakWorld => ({
  log: { writes: [], faults: [], counts: new Map() },
  approved: [],
  mandates: [],
  open: [],
  committed: [],
  closed: [],
  done: 0
})

export interface ClientOptions {
  readonly servers: ReadonlyArray<FleetServer>
  readonly tenant: Tenant
  readonly world: SoakWorld
  readonly random: SeededRandom
  readonly name: string
}

/** The opening of an authorization follows from its reference; here nothing is secret. */
const openingOf = (reference: string): Buffer => createHash("sha256").update(reference).digest()
const commitmentOf = (opening: Buffer): string =>
  createHash("sha256").update("svc:authorization:commitment:v1\n").update(opening).digest("base64url")

/** Budgets small enough to be used up, over calendar periods of UTC. */
const policyOf = (kind: Approved["kind"], random: SeededRandom, isHot: boolean): Json => {
  const rules = { currency: "EUR", max_amount: MAX_AMOUNT, allowed_actions: ["card.create"] }
  if (kind === "SINGLE") return rules
  const total = isHot ? MAX_AMOUNT * 400 : MAX_AMOUNT * random.integer(8, 40)
  return {
    ...rules,
    max_total_amount: total,
    ...(random.next() < 0.5 ? { max_executions: isHot ? 2000 : random.integer(5, 40) } : {}),
    periods: [
      { unit: "DAY", max_amount: Math.ceil(total * (0.4 + 0.6 * random.next())) },
      { unit: "MONTH", max_amount: total, max_executions: isHot ? 1500 : random.integer(10, 60) }
    ]
  }
}

/** One of the clients: each call of `step` is one operation, chosen at random. */
export const soakClient = ({ name, random, servers, tenant, world }: ClientOptions) => {
  const { log } = world
  const client: RetryingClient = retryingClient(servers, tenant.api_key, random.fork(), log)
  const issuer = makeIdentityIssuer({
    issuer: tenant.identity.issuer,
    audience: tenant.identity.audience,
    privateJwk: tenant.identity.private_jwk
  })
  let serial = 0
  const unique = (kind: string): string => `${kind}-${name}-${++serial}`
  const fault = (text: string) => log.faults.push(text)

  const required = (answer: Answer, statuses: ReadonlyArray<number>, what: string): boolean => {
    if (statuses.includes(answer.status)) return true
    if (answer.status !== 0) fault(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return false
  }

  const approve = async (mandate: string, subject: string): Promise<boolean> => {
    const user = makeEndUser()
    for (let attempt = 0; attempt < APPROVAL_ATTEMPTS; attempt++) {
      const session = await client.write(
        "POST",
        SESSIONS,
        { mandate_id: mandate },
        {
          identity_assertion: await issuer.assertion({ subject }),
          return_url: `${tenant.return_origin}/done`,
          return_state: unique("return-state-0123456789")
        },
        unique("session")
      )
      if (session.status !== 201) {
        const { body } = await client.read(`${MANDATES}/${mandate}`)
        if (body.state !== "PENDING_APPROVAL") return true
        fault(`an approval session is refused: ${JSON.stringify(session.body)}`)
        return false
      }
      if (session.body.approval_url !== undefined && (await user.approve(session.body.approval_url))) {
        world.approved.push(mandate)
        return true
      }
      count(log, "approvals interrupted")
    }
    fault(`mandate ${mandate} could not be approved`)
    return false
  }

  const createMandate = async (isHot = false): Promise<void> => {
    const kind = !isHot && random.next() < 0.3 ? "SINGLE" : "RECURRING"
    const subject = unique("subject")
    const body = {
      kind,
      subject_reference: subject,
      description: unique("mandate"),
      policy: policyOf(kind, random, isHot),
      window: { ends_at: new Date(Date.now() + 30 * DAY_MILLISECONDS).toISOString() }
    }
    const created = await client.write("POST", MANDATES, {}, body, unique("create"))
    if (!required(created, [201], "a mandate is refused")) return
    if (await approve(created.body.id, subject)) world.mandates.push({ id: created.body.id, kind })
  }

  const proposalOf = (
    reference: string
  ): { readonly body: Json; readonly reserved: Omit<Reserved, "id"> } => {
    const opening = openingOf(reference)
    const amount = random.integer(1, Math.floor(MAX_AMOUNT * 1.02))
    return {
      reserved: { amount, reference, opening: opening.toString("base64url") },
      body: {
        external_reference: reference,
        proposed_action: { action: "card.create", payment: { amount, currency: "EUR" } },
        // Short ones expire while the soak runs.
        execution_window_seconds: random.next() < 0.4 ? 30 : 900,
        commitment: commitmentOf(opening)
      }
    }
  }

  const mandate = (): Approved | undefined =>
    random.next() < 0.3 ? world.mandates[0] : random.pick(world.mandates.slice(-CURRENT_MANDATES))

  const keep = (answer: Answer, reserved: Omit<Reserved, "id">): void => {
    count(log, `proposals ${answer.body.decision ?? answer.body.code}`)
    if (answer.body.decision === "ALLOW" && !answer.replayed)
      world.open.push({ ...reserved, id: answer.body.id })
    // An answer that was lost comes again as a replay.
    else if (answer.body.state === "RESERVED") world.open.push({ ...reserved, id: answer.body.id })
  }

  const propose = async (): Promise<void> => {
    const target = mandate()
    if (target === undefined) return
    const { body, reserved } = proposalOf(unique("order"))
    const answer = await client.write(
      "POST",
      AUTHORIZATIONS,
      { mandate_id: target.id },
      body,
      unique("propose")
    )
    if (required(answer, [201, 409], "a proposal is refused")) keep(answer, reserved)
  }

  const identical = async (): Promise<void> => {
    const target = mandate()
    if (target === undefined) return
    const { body, reserved } = proposalOf(unique("order"))
    const key = unique("identical")
    count(log, `${IDENTICAL_REQUESTS} identical requests at once`)
    const answers = await Promise.all(
      Array.from({ length: IDENTICAL_REQUESTS }, () =>
        client.write("POST", AUTHORIZATIONS, { mandate_id: target.id }, body, key)
      )
    )
    const made = answers.filter(({ status }) => status === 201)
    if (new Set(made.map((answer) => answer.body.id)).size > 1) fault(`${key} made several resources`)
    if (made[0] !== undefined) keep(made[0], reserved)
  }

  const takeOpen = (): Reserved | undefined => {
    const at = random.integer(0, world.open.length - 1)
    return world.open.length === 0 ? undefined : world.open.splice(at, 1)[0]
  }

  const commitBody = ({ opening, reference }: Reserved, transaction = `txn-${reference}`): Json => ({
    external_action_reference: reference,
    provider_transaction_reference: transaction,
    reported_accepted_at: new Date().toISOString(),
    commitment_opening: opening
  })

  const commit = (reserved: Reserved, body = commitBody(reserved)) =>
    client.write("PUT", COMMIT, { authorization_id: reserved.id }, body, unique("commit"))

  const cancel = (reserved: Reserved) =>
    client.write(
      "PUT",
      CANCELLATION,
      { authorization_id: reserved.id },
      {
        reason: "CALLER_ABORTED",
        execution_disposition: "NEVER_BECAME_POSSIBLE",
        external_credential_reference: unique("credential")
      },
      unique("cancel")
    )

  const seen = async (reserved: Reserved, state: "COMMITTED" | "CANCELLED"): Promise<void> => {
    world.closed.push({ reserved, state })
    if (state === "COMMITTED") world.committed.push(reserved)
    const { body } = await client.read(`/v1/authorizations/${reserved.id}`)
    if (body.state !== state) fault(`${reserved.id} is shown ${body.state} after it was answered ${state}`)
  }

  const close = async (): Promise<void> => {
    const reserved = takeOpen()
    if (reserved === undefined) return propose()
    const way = random.next()
    const commits = way < 0.7 || way > 0.9 ? commit(reserved) : undefined
    const cancels = way >= 0.7 ? cancel(reserved) : undefined
    const [committed, cancelled] = await Promise.all([commits, cancels])
    if (committed !== undefined) required(committed, [200, 409], "a commit is refused")
    if (cancelled !== undefined) required(cancelled, [200, 409], "a cancellation is refused")
    if (committed?.status === 200 && cancelled?.status === 200) fault(`${reserved.id} has two outcomes`)
    if (committed?.status === 200) await seen(reserved, "COMMITTED")
    else if (cancelled?.status === 200) await seen(reserved, "CANCELLED")
    else count(log, "reports too late")
  }

  const conflict = async (): Promise<void> => {
    const done = random.pick(world.closed)
    if (done === undefined) return propose()
    const body = commitBody(done.reserved, unique("txn-conflict"))
    required(await commit(done.reserved, body), [409], "a conflicting commit is not refused")
  }

  const refund = async (): Promise<void> => {
    const reserved = random.pick(world.committed)
    if (reserved === undefined) return propose()
    const body = {
      amount: Math.max(1, Math.floor(reserved.amount / 3)),
      currency: "EUR",
      provider_refund_reference: unique("refund"),
      reported_refunded_at: new Date().toISOString()
    }
    const path = { authorization_id: reserved.id }
    required(
      await client.write("POST", REFUNDS, path, body, unique("refund")),
      [201, 422],
      "a refund is refused"
    )
  }

  const revoke = async (): Promise<void> => {
    const target = random.pick(world.mandates.slice(1))
    if (target === undefined) return propose()
    const path = { mandate_id: target.id }
    const answer = await client.write("PUT", REVOCATION, path, { reason: unique("reason") }, unique("revoke"))
    required(answer, [200, 409], "a revocation is refused")
  }

  /** An earlier write once more: the same resource. Or its key with other input: refused. */
  const repeat = async (): Promise<void> => {
    const first = random.pick(log.writes)
    if (first?.resource === undefined || first.operation.includes(SESSIONS)) return propose()
    const [method, route] = first.operation.split(" ") as ["POST" | "PUT", string]
    const isSame = random.next() < 0.7
    const body = isSame ? first.body : { ...first.body, other: 1 }
    const answer = await client.write(method, route, first.path, body, first.key)
    if (isSame) {
      if (answer.status !== 0 && answer.body.id !== first.resource)
        fault(`${first.key} answered another resource`)
      if (answer.status !== 0 && !answer.replayed) fault(`${first.key} was not answered as a replay`)
    } else if (answer.status !== 0 && answer.body.code !== "idempotency_key_reused") {
      fault(`${first.key} was taken for other input: ${answer.status}`)
    }
  }

  const read = async (): Promise<void> => {
    const target = mandate()
    if (target === undefined) return
    required(await client.read(`${MANDATES}/${target.id}`), [200], "a mandate is not shown")
    required(
      await client.read(`${MANDATES}/${target.id}/authorizations?limit=5`),
      [200],
      "a list is not shown"
    )
  }

  const SHARES: ReadonlyArray<readonly [number, () => Promise<void>]> = [
    [0.4, propose],
    [0.27, close],
    [0.1, read],
    [0.07, repeat],
    [0.05, () => createMandate()],
    [0.04, refund],
    [0.03, conflict],
    [0.02, revoke],
    [0.01, identical]
  ]

  return {
    createMandate,
    identical,
    step: async (): Promise<void> => {
      let at = random.next() * SHARES.reduce((sum, [share]) => sum + share, 0)
      const chosen = SHARES.find(([share]) => {
        at -= share
        return at < 0
      })
      await (chosen?.[1] ?? propose)()
      world.done++
    }
  }
}

/** Mandates to begin with, the first of them hot. */
export const prepare = async (options: ClientOptions): Promise<void> => {
  const client = soakClient(options)
  for (let made = 0; made < FIRST_MANDATES; made++) await client.createMandate(made === 0)
}
