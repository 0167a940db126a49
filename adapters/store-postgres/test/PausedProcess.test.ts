import { createHash, randomInt } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type AnsweredWrite, answeredWrite, type Json, pathOf } from "../soak/RetryingClient.ts"
import { type SeededRandom, seededRandom } from "../soak/SeededRandom.ts"
import { type FleetServer, pause } from "../soak/ServerFleet.ts"
import { MAX_SEED } from "../soak/SoakSettings.ts"
import { auditTables } from "../soak/TableAuditor.ts"
import { postgresTables } from "../soak/Tables.ts"
import { type ServerAnswer, startDeployment, type TestDeployment } from "./TestDeployment.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()

const ROUNDS = 3
/** How far ahead the deadlines lie at first, in milliseconds; a machine that is too busy for that is given more. */
const FIRST_LEAD = 1200
const LEAD_GROWTH = 1.5
/** How long before the deadline the first request is sent at most, and over how long they are spread until the stop. */
const LONGEST_APPROACH = 150
const LONGEST_FLIGHT = 60
/** Reservations of a round; the last is reported while the process stands still. */
const RESERVATIONS = 9
const POLL_MILLISECONDS = 20
const TIMEOUT = 300_000

const DAY_MILLISECONDS = 86_400_000

const openingOf = (reference: string): Buffer => createHash("sha256").update(reference).digest()

/** What a round begins with: everything ends at one deadline unless its request gets there first. */
interface Scene {
  /** Milliseconds of the database's clock. */
  readonly deadline: number
  /** How far the database's clock is ahead of the host's. */
  readonly offset: number
  /** ACTIVE until the deadline, with reservations that expire then. */
  readonly active: string
  readonly reserved: ReadonlyArray<{ readonly id: string; readonly reference: string }>
  /** To be approved by the deadline: one with the approval prepared, one to be revoked. */
  readonly pending: string
  readonly unwanted: string
  readonly approve: () => Promise<ServerAnswer>
}

/** What a reader is shown of a scene. */
interface Shown {
  readonly states: Readonly<Record<string, string>>
  readonly journals: Readonly<Record<string, ReadonlyArray<Json>>>
}

/** The client of one run: whatever it writes is kept for the audit, under the answer that it came to in the end. */
const makeActors = (deployment: TestDeployment, random: SeededRandom) => {
  const [paused, other] = deployment.servers as [FleetServer, FleetServer]
  const writes: Array<AnsweredWrite> = []
  const approved: Array<string> = []
  let serial = 0
  const unique = (kind: string): string => `${kind} ${++serial}`

  /** Sends a write to one process; what that does not answer, or with 503, is asked again, of the other. */
  const write = async (
    method: "POST" | "PUT",
    route: string,
    path: Readonly<Record<string, string>>,
    body: Json,
    to: FleetServer
  ): Promise<ServerAnswer> => {
    const key = `key-${++serial}`
    const request = { method, path: pathOf(route, path), body, key }
    const first = await deployment.send(to, request)
    const answer = first.status === 503 ? await deployment.insist(other, request) : first
    writes.push(answeredWrite({ operation: `${method} ${route}`, path, key, body }, answer))
    return answer
  }

  const create = (times: Json) =>
    write(
      "POST",
      "/v1/mandates",
      {},
      {
        kind: "RECURRING",
        subject_reference: unique("subject"),
        description: unique("mandate"),
        policy: {
          currency: "EUR",
          max_amount: 1000,
          allowed_actions: ["card.create"],
          periods: [{ unit: "DAY", max_amount: 1_000_000 }]
        },
        ...times
      },
      other
    )
  const propose = (mandate: string, to: FleetServer, reference = unique("order")) =>
    write(
      "POST",
      "/v1/mandates/{mandate_id}/authorizations",
      { mandate_id: mandate },
      {
        external_reference: reference,
        proposed_action: { action: "card.create", payment: { amount: 100, currency: "EUR" } },
        execution_window_seconds: 900,
        commitment: createHash("sha256")
          .update("svc:authorization:commitment:v1\n")
          .update(openingOf(reference))
          .digest("base64url")
      },
      to
    )
  const commit = ({ id, reference }: Scene["reserved"][number], to: FleetServer) =>
    write(
      "PUT",
      "/v1/authorizations/{authorization_id}/commit",
      { authorization_id: id },
      {
        external_action_reference: reference,
        provider_transaction_reference: unique("transaction"),
        reported_accepted_at: new Date().toISOString(),
        commitment_opening: openingOf(reference).toString("base64url")
      },
      to
    )
  const cancel = ({ id }: Scene["reserved"][number], to: FleetServer) =>
    write(
      "PUT",
      "/v1/authorizations/{authorization_id}/cancellation",
      { authorization_id: id },
      {
        reason: "CALLER_ABORTED",
        execution_disposition: "NEVER_BECAME_POSSIBLE",
        external_credential_reference: unique("credential")
      },
      to
    )
  const revoke = (mandate: string, to: FleetServer) =>
    write(
      "PUT",
      "/v1/mandates/{mandate_id}/revocation",
      { mandate_id: mandate },
      { reason: unique("reason") },
      to
    )

  /** `undefined` when the deadline came before everything was ready. */
  const setUp = async (lead: number): Promise<Scene | undefined> => {
    const far = { ends_at: new Date(Date.now() + 30 * DAY_MILLISECONDS).toISOString() }
    const first = await create({ window: far })
    const now = Date.parse(`${String(first.body.created_at).slice(0, 23)}Z`)
    const offset = now - Date.now()
    const at = new Date(now + lead).toISOString()
    const active = await create({ window: { ends_at: at } })
    const pending = await create({ window: far, approval_deadline: at })
    const unwanted = await create({ window: far, approval_deadline: at })
    if ([active, pending, unwanted].some(({ status }) => status !== 201)) return undefined
    if (!(await deployment.approve(other, active.body))) return undefined
    approved.push(active.body.id)
    const approve = await deployment.prepareApproval(paused, pending.body)
    if (approve === undefined) return undefined
    const references = Array.from({ length: RESERVATIONS }, () => unique("order"))
    const answers = await Promise.all(
      references.map((reference) => propose(active.body.id, paused, reference))
    )
    if (answers.some(({ body }) => body.state !== "RESERVED")) return undefined
    const reserved = answers.map(({ body }, index) => ({ id: body.id, reference: references[index] ?? "" }))
    if (Date.now() + offset + LONGEST_APPROACH > now + lead) return undefined
    return {
      deadline: now + lead,
      offset,
      active: active.body.id,
      reserved,
      pending: pending.body.id,
      unwanted: unwanted.body.id,
      approve
    }
  }

  const read = (path: string) => deployment.insist(other, { method: "GET", path })

  const show = async (scene: Scene): Promise<Shown> => {
    const states: Record<string, string> = {}
    const journals: Record<string, ReadonlyArray<Json>> = {}
    for (const mandate of [scene.active, scene.pending, scene.unwanted]) {
      const { body } = await read(`/v1/mandates/${mandate}`)
      states[mandate] = body.state
      const events = await read(`/v1/mandates/${mandate}/events?limit=100`)
      assert.isFalse(events.body.has_more)
      journals[mandate] = events.body.data
    }
    const list = await read(`/v1/mandates/${scene.active}/authorizations?limit=100`)
    for (const { id, state } of list.body.data) states[id] = state
    return { states, journals }
  }

  /** Reads until the deadline has come, which the reader is shown then. */
  const untilOver = async (scene: Scene): Promise<void> => {
    while ((await read(`/v1/mandates/${scene.active}`)).body.state === "ACTIVE")
      await pause(POLL_MILLISECONDS)
  }

  /** Requests in flight, the process stopped over the deadline, a reader elsewhere, and what comes of it. */
  const round = async (scene: Scene) => {
    const { active, approve, deadline, offset, pending, reserved, unwanted } = scene
    const last = reserved.at(-1) ?? { id: "", reference: "" }
    const approach = random.integer(0, LONGEST_APPROACH)
    const flight = random.integer(0, LONGEST_FLIGHT)
    const progress = { answered: 0 }
    const soon = async <A>(send: () => Promise<A>): Promise<A> => {
      await pause(random.integer(0, flight))
      const answer = await send()
      progress.answered++
      return answer
    }
    await pause(Math.max(0, deadline - approach - Date.now() - offset))
    const reports = reserved
      .slice(0, -1)
      .map((one, at) => soon(() => (at % 2 === 0 ? commit(one, paused) : cancel(one, paused))))
    const proposal = soon(() => propose(active, paused))
    const approval = soon(approve)
    const revocation = soon(() => revoke(unwanted, paused))
    await pause(flight)
    paused.freeze()
    const inTime = progress.answered
    await untilOver(scene)
    const shown = await show(scene)
    const late = Promise.all([commit(last, paused), propose(active, paused)])
    await pause(POLL_MILLISECONDS)
    paused.resume()
    const answers = {
      reports: await Promise.all(reports),
      proposed: await proposal,
      approval: await approval,
      revoked: await revocation,
      late: await late
    }
    if (answers.approval.status === 200) approved.push(pending)
    return { ...answers, shown, after: await show(scene), unanswered: reports.length + 3 - inTime }
  }

  return { approved, round, setUp, writes }
}

type Actors = ReturnType<typeof makeActors>
type Round = Awaited<ReturnType<Actors["round"]>>

const isIn = (statuses: ReadonlyArray<number>, { body, status }: ServerAnswer): void =>
  assert.include(statuses, status, JSON.stringify(body))

/** What the reader was shown stands, and what came after came later. */
const assertPastStands = (scene: Scene, { after, shown }: Round): void => {
  for (const [id, state] of Object.entries(shown.states)) {
    assert.notInclude(["RESERVED", "PENDING_APPROVAL"], state, id)
    assert.strictEqual(after.states[id], state, id)
  }
  for (const [mandate, journal] of Object.entries(shown.journals)) {
    const whole = after.journals[mandate] ?? []
    assert.deepStrictEqual(whole.slice(0, journal.length), journal)
    for (const event of whole.slice(journal.length)) {
      const at = Date.parse(`${String(event.occurred_at).slice(0, 23)}Z`)
      assert.isAtLeast(at, scene.deadline, `${event.type} was written into the past`)
    }
  }
}

/** Each answer is what the reader was shown, or a refusal. */
const assertAnswersAgree = (scene: Scene, round: Round): void => {
  const { approval, late, proposed, reports, revoked, shown } = round
  reports.forEach((answer, at) => {
    isIn([200, 409], answer)
    const outcome = at % 2 === 0 ? "COMMITTED" : "CANCELLED"
    assert.strictEqual(
      shown.states[scene.reserved[at]?.id ?? ""],
      answer.status === 200 ? outcome : "EXPIRED"
    )
  })
  isIn([201], proposed)
  if (proposed.body.decision === "ALLOW") assert.strictEqual(shown.states[proposed.body.id], "EXPIRED")
  else assert.strictEqual(proposed.body.reasons[0].code, "MANDATE_EXPIRED")
  isIn([200, 410, 503], approval)
  assert.strictEqual(shown.states[scene.active], "EXPIRED")
  if (approval.status !== 503) {
    assert.strictEqual(shown.states[scene.pending], approval.status === 200 ? "ACTIVE" : "EXPIRED")
  }
  isIn([200, 409], revoked)
  assert.strictEqual(shown.states[scene.unwanted], revoked.status === 200 ? "REVOKED" : "EXPIRED")
  const [lateCommit, lateProposal] = late
  isIn([409], lateCommit)
  assert.strictEqual(shown.states[scene.reserved.at(-1)?.id ?? ""], "EXPIRED")
  isIn([201], lateProposal)
  assert.strictEqual(lateProposal.body.decision, "DENY")
}

describe.skipIf(server === undefined)("a server process that is paused over a deadline", () => {
  let deployment: TestDeployment
  beforeAll(async () => {
    deployment = await startDeployment(server?.url ?? "", [{}, {}])
  }, TIMEOUT)
  afterAll(async () => {
    await deployment?.end()
    await server?.stop()
  })

  it(
    "resumes without writing into the past that others were shown",
    async () => {
      const seed = randomInt(MAX_SEED)
      process.stdout.write(`pauses of seed ${seed}\n`)
      const actors = makeActors(deployment, seededRandom(seed))
      let lead = FIRST_LEAD
      let unanswered = 0
      for (let rounds = 0; rounds < ROUNDS; ) {
        const scene = await actors.setUp(lead)
        if (scene === undefined) {
          lead *= LEAD_GROWTH
          continue
        }
        const round = await actors.round(scene)
        assertPastStands(scene, round)
        assertAnswersAgree(scene, round)
        unanswered += round.unanswered
        rounds++
      }
      assert.isAbove(unanswered, 0)
      const { organization_id: organization } = deployment.tenant
      const tables = await postgresTables(server?.url ?? "")(organization)
      const { approved, writes } = actors
      // The keys of approval sessions are not among the writes.
      const claims = tables.claims.filter(({ resource }) => !resource?.startsWith("aps_"))
      const audit = auditTables({ ...tables, claims, organization, writes, approved })
      assert.deepStrictEqual(audit.faults, [])
      assert.deepStrictEqual(deployment.faults, [])
    },
    TIMEOUT
  )
})
