import {
  cancelAuthorization,
  commitAuthorization,
  listAuthorizations,
  proposeAuthorization,
  readAuthorization,
  reportRefund
} from "@svc/domain/programs/Authorizations"
import { readEvidence } from "@svc/domain/programs/Evidence"
import {
  createMandate,
  listEvents,
  listMandates,
  readMandate,
  revokeMandate
} from "@svc/domain/programs/Mandates"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { Effect } from "effect"
import { DAY, HOUR, MILLISECOND, MINUTE } from "../time/Micros.ts"
import { newWrite, pickMandate, pickRecent, rest, type Stage, sendKeyed } from "./Actor.ts"
import { cancellationBody, commitBody, drawOpening, mandateBody, proposalBody, refundBody } from "./Bodies.ts"
import type { KnownAuthorization } from "./Tenant.ts"

const create = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, random, tenant, time } = stage
  if (tenant.mandates.length >= tenant.mostMandates) return
  const subject = random.pick(tenant.subjects)
  const write = newWrite(stage, mandateBody(random, subject, time.now))
  const { losses } = audit.mandates
  const outcome = yield* sendKeyed(stage, write.idempotencyKey, {
    what: "create a mandate",
    about: tenant.organization.id,
    isWrite: true,
    program: createMandate(write)
  })
  if (outcome._tag !== "Done") return
  const { id } = outcome.value.resource
  tenant.mandates.push({ id, subject })
  const since = audit.mandates.since(id)
  audit.mandates.mandateShown({ ...since, losses, seq: -1, version: 0 }, outcome.value.resource)
})

/** The key of an earlier proposal with another body is refused. */
const sendOtherwise = Effect.fnUntraced(function* (stage: Stage, mandateId: string) {
  const { audit, client, random, tenant } = stage
  const { lastKey } = tenant
  if (lastKey === undefined) return
  const { losses } = audit.mandates
  const body = proposalBody(random, drawOpening(random).commitment)
  const outcome = yield* client.write({
    what: "use a key again with another body",
    about: mandateId,
    isWrite: true,
    program: proposeAuthorization({ ...newWrite(stage, body), idempotencyKey: lastKey, mandateId })
  })
  const isRight = outcome._tag !== "Done" || losses !== audit.mandates.losses || losses > 0
  audit.findings.check("one input per key", isRight, `${mandateId}: ${lastKey}`)
})

const propose = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, random, rare, tenant } = stage
  const mandate = pickMandate(stage)
  if (mandate === undefined) return
  const used = random.chance(0.02) ? tenant.authorizations.at(-1)?.commitment : undefined
  const { commitment, opening } = drawOpening(random)
  const body = proposalBody(random, used ?? commitment)
  const write = newWrite(stage, body)
  if (random.chance(0.03)) yield* sendOtherwise(stage, mandate.id)
  const since = audit.mandates.since(mandate.id)
  const outcome = yield* sendKeyed(stage, write.idempotencyKey, {
    what: "propose",
    about: mandate.id,
    isWrite: true,
    program: proposeAuthorization({ ...write, mandateId: mandate.id })
  })
  if (outcome._tag === "Refused" && outcome.refusal._tag === "CommitmentReused")
    rare.count("commitment used again")
  if (outcome._tag !== "Done") return
  const { resource } = outcome.value
  audit.mandates.authorizationShown(since, resource)
  if (used === undefined) stage.tenant.lastKey = write.idempotencyKey
  if (resource.decision !== "ALLOW" || used !== undefined) return
  const { amount } = resource.proposed_action.payment
  tenant.authorizations.push({ id: resource.id, mandate: mandate.id, opening, amount, commitment })
})

/** What became of an authorization must be on record when its caller is told. */
const told = (
  { audit }: Stage,
  losses: number,
  { id, mandate }: KnownAuthorization,
  what: string,
  holds: (authorization: {
    readonly state: string
    readonly late: boolean
    readonly refunded: bigint
  }) => boolean
): void => {
  if (audit.mandates.losses !== losses) return
  const own = audit.mandates.counted(mandate)?.authorizations.get(id)
  audit.findings.check(
    `acknowledged: ${what}`,
    own !== undefined && holds(own),
    `${mandate}: ${id} is ${own?.state}`
  )
}

/** Whether an authorization is open, with time left for a request. */
const isOpen = ({ audit }: Stage, { id, mandate }: KnownAuthorization): boolean => {
  const counted = audit.mandates.counted(mandate)
  return counted?.authorizations.get(id)?.state === "RESERVED"
}

const commit = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, random, tenant, time } = stage
  const authorization = pickRecent(stage, tenant.authorizations)
  if (authorization === undefined) return
  const isWrong = random.chance(0.05)
  const opening = isWrong ? drawOpening(random).opening : authorization.opening
  const write = newWrite(stage, commitBody(opening, time.now - MILLISECOND, random.chance(0.9) ? 1 : 2))
  const { losses } = audit.mandates
  const since = audit.mandates.since(authorization.mandate)
  const outcome = yield* sendKeyed(stage, write.idempotencyKey, {
    what: `commit ${authorization.id}`,
    about: authorization.mandate,
    isWrite: true,
    program: commitAuthorization({ ...write, authorizationId: authorization.id })
  })
  if (outcome._tag === "Done") {
    told(stage, losses, authorization, "commits", ({ state }) => state === "COMMITTED" && !isWrong)
    audit.mandates.authorizationShown(since, outcome.value.resource)
  }
  if (outcome._tag !== "Refused") return
  if (outcome.refusal._tag === "TerminalStateConflict") {
    told(
      stage,
      losses,
      authorization,
      "late commits count",
      ({ late, state }) => late || state === "COMMITTED"
    )
  }
  if (losses === audit.mandates.losses && !isWrong) {
    audit.findings.check(
      "what is open can be committed",
      !isOpen(stage, authorization),
      `${authorization.mandate}: ${authorization.id}: ${outcome.refusal._tag}`
    )
  }
})

const cancel = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, random, tenant } = stage
  const authorization = pickRecent(stage, tenant.authorizations)
  if (authorization === undefined) return
  const write = newWrite(stage, cancellationBody(random.chance(0.9) ? 1 : 2))
  const { losses } = audit.mandates
  const outcome = yield* sendKeyed(stage, write.idempotencyKey, {
    what: `cancel ${authorization.id}`,
    about: authorization.mandate,
    isWrite: true,
    program: cancelAuthorization({ ...write, authorizationId: authorization.id })
  })
  if (outcome._tag === "Done")
    told(stage, losses, authorization, "cancellations", ({ state }) => state === "CANCELLED")
})

const refund = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, random, tenant, time } = stage
  const { mandates } = audit
  const committed = tenant.authorizations.filter(
    ({ id, mandate }) => mandates.counted(mandate)?.authorizations.get(id)?.state === "COMMITTED"
  )
  const authorization = pickRecent(stage, committed)
  if (authorization === undefined) return
  const amount = Math.ceil(authorization.amount / random.integer(1, 3))
  const write = newWrite(stage, refundBody(amount, time.now - MILLISECOND))
  const { losses } = mandates
  const outcome = yield* sendKeyed(stage, write.idempotencyKey, {
    what: `report a refund of ${amount} of ${authorization.id}`,
    about: authorization.mandate,
    isWrite: true,
    program: reportRefund({ ...write, authorizationId: authorization.id })
  })
  if (outcome._tag === "Done") {
    told(stage, losses, authorization, "refunds", ({ refunded }) => refunded >= BigInt(amount))
  }
})

const revoke = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, tenant } = stage
  const mandate = pickRecent(stage, tenant.mandates)
  if (mandate === undefined) return
  const write = newWrite(stage, { reason: "no longer wanted" })
  const since = audit.mandates.since(mandate.id)
  const outcome = yield* sendKeyed(stage, write.idempotencyKey, {
    what: "revoke",
    about: mandate.id,
    isWrite: true,
    program: revokeMandate({ ...write, mandateId: mandate.id })
  })
  if (outcome._tag === "Done") audit.mandates.mandateShown(since, outcome.value.resource)
})

const read = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, client, tenant } = stage
  const mandate = pickRecent(stage, tenant.mandates)
  if (mandate === undefined) return
  const since = audit.mandates.since(mandate.id)
  const outcome = yield* client.ask({
    what: "read",
    about: mandate.id,
    isWrite: false,
    program: readMandate({ organization: tenant.organization.id, mandateId: mandate.id })
  })
  if (outcome._tag === "Done") audit.mandates.mandateShown(since, outcome.value)
  if (outcome._tag === "Refused") notFound(stage, since.losses, mandate.id, outcome.refusal._tag)
})

const notFound = ({ audit }: Stage, losses: number, what: string, refusal: string): void => {
  const isLost = audit.mandates.losses > 0 || losses !== audit.mandates.losses
  audit.findings.check("what was acknowledged is found", isLost, `${what}: ${refusal}`)
}

const readOne = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, client, tenant } = stage
  const authorization = pickRecent(stage, tenant.authorizations)
  if (authorization === undefined) return
  const since = audit.mandates.since(authorization.mandate)
  const outcome = yield* client.ask({
    what: `read ${authorization.id}`,
    about: authorization.mandate,
    isWrite: false,
    program: readAuthorization({ organization: tenant.organization.id, authorizationId: authorization.id })
  })
  if (outcome._tag === "Done") audit.mandates.authorizationShown(since, outcome.value)
  if (outcome._tag === "Refused") notFound(stage, since.losses, authorization.id, outcome.refusal._tag)
})

const list = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, client, random, tenant } = stage
  const organization = tenant.organization.id
  if (random.chance(0.5)) {
    const since = new Map(tenant.mandates.map(({ id }) => [id, audit.mandates.since(id)]))
    const outcome = yield* client.ask({
      what: "list mandates",
      about: organization,
      isWrite: false,
      program: listMandates({ organization, limit: 10 })
    })
    if (outcome._tag !== "Done") return
    for (const shown of outcome.value.data) {
      const known = since.get(shown.id)
      if (known !== undefined) audit.mandates.mandateShown(known, shown)
    }
    return
  }
  const mandate = pickMandate(stage)
  if (mandate === undefined) return
  const since = audit.mandates.since(mandate.id)
  const outcome = yield* client.ask({
    what: "list authorizations",
    about: mandate.id,
    isWrite: false,
    program: listAuthorizations({ organization, mandateId: mandate.id, limit: 10 })
  })
  if (outcome._tag !== "Done") return
  for (const shown of outcome.value.data) audit.mandates.authorizationShown(since, shown)
})

/** What evidence and the journal show is the journal as it was recorded. */
const readJournal = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, client, random, signingKeys, tenant } = stage
  const mandate = pickRecent(stage, tenant.mandates)
  if (mandate === undefined) return
  const query = { organization: tenant.organization.id, mandateId: mandate.id }
  const since = audit.mandates.since(mandate.id)
  if (random.chance(0.4)) {
    const program = listEvents({ ...query, limit: 50 })
    const outcome = yield* client.ask({ what: "list events", about: mandate.id, isWrite: false, program })
    if (outcome._tag !== "Done" || since.losses !== audit.mandates.losses) return
    const texts = audit.mandates.counted(mandate.id)?.texts ?? []
    const isSame = outcome.value.data.every((text, at) => text === texts[at])
    audit.findings.check(
      "journals as recorded",
      isSame && outcome.value.data.length >= Math.min(50, since.seq),
      mandate.id
    )
    return
  }
  const outcome = yield* client.ask({
    what: "read evidence",
    about: mandate.id,
    isWrite: false,
    program: readEvidence(query)
  })
  if (outcome._tag !== "Done" || since.losses !== audit.mandates.losses) return
  const { payload, protected: header, signature } = outcome.value
  const { kid } = JSON.parse(Buffer.from(header, "base64url").toString())
  const signed = new TextEncoder().encode(`${header}.${payload}`)
  const isSigned = signingKeys.verifies(kid, signed, decodeBase64Url(signature) ?? new Uint8Array())
  audit.findings.check("evidence is signed with the key that it names", isSigned, `${mandate.id}: ${kid}`)
  const { events, head } = JSON.parse(Buffer.from(payload, "base64url").toString())
  const own = audit.mandates.counted(mandate.id)?.events ?? []
  const isWhole = head.seq === events.length && head.seq >= since.seq && own[head.seq - 1]?.hash === head.hash
  audit.findings.check("evidence holds the whole journal", isWhole, `${mandate.id}: ${head.seq} events`)
})

const rotateSigningKey = (stage: Stage): Effect.Effect<void> =>
  Effect.sync(() => {
    if (stage.random.chance(0.5)) stage.signingKeys.rotate()
  })

/** Several requests about one mandate at once, as of a busy checkout. */
const rush = Effect.fnUntraced(function* (stage: Stage, only?: string) {
  const { random, tenant } = stage
  const id = only ?? pickMandate(stage)?.id
  if (id === undefined) return
  const focused: Stage = {
    ...stage,
    tenant: {
      ...tenant,
      mandates: tenant.mandates.filter((mandate) => mandate.id === id),
      authorizations: tenant.authorizations.filter(({ mandate }) => mandate === id)
    }
  }
  const actions = Array.from({ length: random.integer(3, 14) }, () =>
    random.pick([propose, propose, commit, commit, cancel, readOne])(focused)
  )
  yield* Effect.all(actions, { concurrency: "unbounded", discard: true })
  for (const authorization of focused.tenant.authorizations) {
    if (!tenant.authorizations.includes(authorization)) tenant.authorizations.push(authorization)
  }
})

const burst = (stage: Stage) => rush(stage)

/** The ends of days in the zones that mandates name, in hours before midnight UTC. */
const ENDS_OF_DAYS = [0, 1, 2].map((hours) => hours * HOUR)

/** Requests that arrive just when a day ends, and with it periods. */
const endOfDay = Effect.fnUntraced(function* (stage: Stage) {
  const { client, random, time } = stage
  const ends = ENDS_OF_DAYS.map((before) => Math.ceil((time.now + before) / DAY) * DAY - before - time.now)
  const left = Math.min(...ends)
  if (left > 6 * MINUTE) return
  yield* client.sleep(left - random.integer(0, 4 * MILLISECOND))
  yield* rush(stage)
})

/** Requests that arrive just when something of their mandate is due. */
const lastMoment = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, client, random, tenant, time } = stage
  const soon = tenant.mandates.filter(({ id }) => {
    const left = audit.mandates.dueAtOf(id) - time.now
    return left > 0 && left < 6 * MINUTE
  })
  const mandate = pickRecent(stage, soon)
  if (mandate === undefined) return
  const left = audit.mandates.dueAtOf(mandate.id) - time.now
  yield* client.sleep(left - random.integer(0, 5 * MILLISECOND))
  yield* rush(stage, mandate.id)
})

/** How often a caller does each. */
const ACTIONS: ReadonlyArray<readonly [weight: number, action: (stage: Stage) => Effect.Effect<void>]> = [
  [10, create],
  [30, burst],
  [30, lastMoment],
  [10, endOfDay],
  [30, propose],
  [22, commit],
  [7, cancel],
  [6, refund],
  [1, revoke],
  [7, read],
  [8, readOne],
  [5, list],
  [4, readJournal],
  [2, rotateSigningKey]
]
const WEIGHTS = ACTIONS.reduce((sum, [weight]) => sum + weight, 0)

const nextAction = ({ random }: Stage): ((stage: Stage) => Effect.Effect<void>) => {
  let left = random.next() * WEIGHTS
  for (const [weight, action] of ACTIONS) {
    left -= weight
    if (left < 0) return action
  }
  return read
}

/** A backend of an organization that uses mandates until the run is over. */
export const caller = Effect.fnUntraced(function* (stage: Stage) {
  while (!stage.isOver()) {
    yield* rest(stage)
    yield* nextAction(stage)(stage)
  }
})
