import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { commitmentOf, OPENING_BYTES } from "@svc/protocol/evidence/Commitment"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import type { JsonValue } from "@svc/protocol/json/Json"
import * as fc from "fast-check"
import {
  type MandateShape,
  mandateShapes,
  type ProposalShape,
  proposalShapes,
  shapeBody
} from "./Arbitraries.ts"
import type { Auditor } from "./Auditor.ts"
import * as Oracle from "./LifecycleOracle.ts"
import type { ApiAnswer, LifecycleTarget } from "./LifecycleTarget.ts"

/** An authorization of a run, with the opening of its commitment. */
export interface ModelAuthorization extends Oracle.OracleAuthorization {
  opening: string
}

/** A write that succeeded, to be sent again. */
interface SentWrite {
  readonly method: string
  readonly path: string
  readonly body: object
  readonly key: string
  readonly resource: string
  readonly mandate: Oracle.OracleMandate
}

/** What a run has done so far, as it must be by the interface alone. Times are in milliseconds since 1970. */
export interface LifecycleModel {
  readonly graceMilliseconds: number
  /** Makes keys and subjects of different runs differ. */
  readonly name: string
  now: number
  readonly mandates: Array<Oracle.OracleMandate>
  readonly authorizations: Array<ModelAuthorization>
  readonly sent: Array<SentWrite>
}

/** The service that a run is against. */
export interface LifecycleRun {
  readonly target: LifecycleTarget
  readonly call: (method: string, path: string, body?: object, key?: string) => Promise<ApiAnswer>
  readonly auditor: Auditor
  /** Notes in words what a step does, and what came of it. */
  readonly note: (words: string) => void
  /** Reads a mandate in whole, and holds it against the model, the audit and one's own invariants. */
  readonly inspect: (model: LifecycleModel, mandate: Oracle.OracleMandate) => Promise<void>
}

/** A step of a run, of one's own too: `run` may change the model, and throws where the service does not agree. */
export type LifecycleCommand = fc.AsyncCommand<LifecycleModel, LifecycleRun>

type Step = (model: LifecycleModel, run: LifecycleRun) => Promise<void>

/** A step as a command. `needs` says whether the model has what it is about. */
const command = (title: string, step: Step, needs: (model: LifecycleModel) => boolean): LifecycleCommand => ({
  check: (model) => needs(model),
  run: step,
  toString: () => title
})

const hasMandate = ({ mandates }: LifecycleModel): boolean => mandates.length > 0
const hasAuthorization = ({ authorizations }: LifecycleModel): boolean =>
  authorizations.some(({ id }) => id !== "")

/** The newest for 0, then backwards, around. */
const pick = <A>(list: ReadonlyArray<A>, index: number): A => {
  const found = list[list.length - 1 - (index % list.length)]
  if (found === undefined) throw new RangeError("there is nothing to pick from")
  return found
}

/** As `pick`, of those that make the story long, if there are such. */
const pickThat = <A>(list: ReadonlyArray<A>, index: number, preferred: (entry: A) => boolean): A => {
  const found = list.filter(preferred)
  return pick(found.length === 0 ? list : found, index)
}

const nameOf = (model: LifecycleModel, mandate: Oracle.OracleMandate): string =>
  `mandate ${model.mandates.indexOf(mandate) + 1}`

/** Success as `ok`, a refusal by its code and the state that it names. */
export const answerOf = ({ body, status }: ApiAnswer): string =>
  status < 300 ? "ok" : [body.code, body.current_state].filter(Boolean).join(" ")

/** The code of a refusal that the model names, such as `state_conflict ACTIVE` of `StateConflict ACTIVE`. */
export const expectedAnswer = (expected: Oracle.Expected): string =>
  expected.replace(/^[A-Z]\w+/u, (name) => name.replaceAll(/(?<!^)[A-Z]/gu, "_$&").toLowerCase())

const textOf = (body: object): string => canonicalJson(body as JsonValue)

interface Write {
  readonly words: string
  readonly method: "POST" | "PUT"
  readonly path: string
  readonly body: object
  readonly mandate: Oracle.OracleMandate
  /** What the model says, once the answer has told the time. */
  readonly expected: (answer: ApiAnswer) => Oracle.Expected
}

/** Sends a write under a new key, compares its answer with the model, and inspects its mandate. */
const write = async (model: LifecycleModel, run: LifecycleRun, sending: Write): Promise<ApiAnswer> => {
  const { body, mandate, method, path, words } = sending
  const key = `${model.name}-${model.sent.length + 1}-${crypto.randomUUID()}`
  const answer = await run.call(method, path, body, key)
  advance(model, run, answer)
  const given = answerOf(answer)
  run.note(`${words}: ${answer.status < 300 ? answer.body.state : given}`)
  const expected = expectedAnswer(sending.expected(answer))
  if (given !== expected) throw new Error(`${words} is answered ${given}, not ${expected}`)
  if (answer.status < 300) {
    if (mandate.id === "") mandate.id = answer.body.id
    const { id: resource } = answer.body
    model.sent.push({ method, path, body, key, resource, mandate })
    run.auditor.written(`${method} ${path}`, key, textOf(body), resource)
  }
  await run.inspect(model, mandate)
  return answer
}

/** Takes the time from the clock of the service, or from what it answers. */
const advance = (model: LifecycleModel, { target }: LifecycleRun, { body }: ApiAnswer): void => {
  const told = target.clock?.now() ?? body?.updated_at ?? body?.created_at
  if (told !== undefined) model.now = Math.max(model.now, Date.parse(told))
}

/** Creates a mandate of a shape. */
export const createMandate = (shape: MandateShape): LifecycleCommand =>
  command(
    `create ${JSON.stringify(shape)}`,
    async (model, run) => {
      const subject = `${shape.subject} of ${model.name}`
      // Without a clock to move, a mandate is open from its creation on, and for longer than any run takes.
      const lasting =
        run.target.clock === undefined
          ? { ...shape, subject, startsIn: 0, lasts: 45 * 86_400_000, waits: 86_400_000 }
          : { ...shape, subject }
      const made = Oracle.newMandate(lasting, model.now)
      const mandate = run.target.clock === undefined ? { ...made, startsAt: 0 } : made
      model.mandates.push(mandate)
      await write(model, run, {
        words: `${nameOf(model, mandate)} is created (${shape.kind}, at most ${shape.maxAmount})`,
        method: "POST",
        path: "/v1/mandates",
        body: shapeBody(lasting, model.now),
        mandate,
        expected: () => "ok"
      })
    },
    () => true
  )

/** The end user approves a mandate that waits for it. */
export const approveMandate = (index: number): LifecycleCommand =>
  command(
    `approve(${index})`,
    async (model, run) => {
      for (const each of model.mandates) Oracle.settleMandate(each, model.now)
      const mandate = pickThat(model.mandates, index, ({ state }) => state === "PENDING_APPROVAL")
      if (mandate.state !== "PENDING_APPROVAL") return
      await run.target.approve({ id: mandate.id, subject_reference: mandate.shape.subject })
      Oracle.answer(mandate, true, model.now)
      run.note(`${nameOf(model, mandate)} is approved: ${mandate.state}`)
      await run.inspect(model, mandate)
    },
    hasMandate
  )

/** The caller revokes a mandate. */
export const revokeMandate = (index: number, reason: string): LifecycleCommand =>
  command(
    `revoke(${index}, ${reason})`,
    async (model, run) => {
      const mandate = pick(model.mandates, index)
      await write(model, run, {
        words: `${nameOf(model, mandate)} is revoked`,
        method: "PUT",
        path: `/v1/mandates/${mandate.id}/revocation`,
        body: { reason },
        mandate,
        expected: () => Oracle.revoke(mandate, reason, model.now)
      })
    },
    hasMandate
  )

/** The caller proposes an action. */
export const proposeAuthorization = (index: number, shape: ProposalShape): LifecycleCommand =>
  command(
    `propose(${index}, ${JSON.stringify(shape)})`,
    async (model, run) => {
      const mandate = pickThat(model.mandates, index, ({ state }) => state === "ACTIVE")
      const opening = crypto.getRandomValues(new Uint8Array(OPENING_BYTES))
      const lasting = run.target.clock === undefined ? { ...shape, window: 86_400 } : shape
      const number = model.authorizations.length + 1
      let codes: ReadonlyArray<string> = []
      let decided: Oracle.OracleAuthorization | undefined
      const { body } = await write(model, run, {
        words: `authorization ${number} of ${nameOf(model, mandate)} is proposed (${shape.amount} ${shape.currency}, ${shape.action})`,
        method: "POST",
        path: `/v1/mandates/${mandate.id}/authorizations`,
        body: {
          external_reference: `order ${number}`,
          proposed_action: {
            action: shape.action,
            ...(shape.merchant === undefined ? {} : { attributes: { merchant: shape.merchant } }),
            payment: { amount: shape.amount, currency: shape.currency }
          },
          execution_window_seconds: lasting.window,
          commitment: commitmentOf(opening)
        },
        mandate,
        expected: () => {
          const at = { now: model.now, grace: model.graceMilliseconds }
          const outcome = Oracle.decideProposal(mandate, number, lasting, at)
          codes = outcome.codes
          decided = outcome.authorization
          return "ok"
        }
      })
      const told = body.reasons.map(({ code }: { readonly code: string }) => code)
      if (told.join() !== codes.join())
        throw new Error(`authorization ${number} has the reasons [${told}], not [${codes}]`)
      if (decided === undefined) return
      decided.id = body.id
      model.authorizations.push(Object.assign(decided, { opening: encodeBase64Url(opening) }))
    },
    hasMandate
  )

interface Report {
  readonly words: string
  readonly path: string
  readonly body: (authorization: ModelAuthorization, now: string) => object
  readonly expected: (authorization: ModelAuthorization, now: number) => Oracle.Expected
}

/** Reports what became of an authorization, of one in a state that the report is meant for if there is such. */
const reportOutcome = (title: string, index: number, preferred: string, report: Report): LifecycleCommand =>
  command(
    title,
    async (model, run) => {
      const authorization = pickThat(
        model.authorizations.filter(({ id }) => id !== ""),
        index,
        ({ state }) => state === preferred
      )
      await write(model, run, {
        words: `authorization ${authorization.number} ${report.words}`,
        method: report.path === "refunds" ? "POST" : "PUT",
        path: `/v1/authorizations/${authorization.id}/${report.path}`,
        body: report.body(authorization, new Date(model.now).toISOString()),
        mandate: authorization.mandate,
        expected: () => report.expected(authorization, model.now)
      })
    },
    hasAuthorization
  )

/** The caller reports that the action was accepted; `variant` tells reports of one authorization apart. */
export const commitAuthorization = (index: number, variant: number): LifecycleCommand =>
  reportOutcome(`commit(${index}, ${variant})`, index, "RESERVED", {
    words: "is committed",
    path: "commit",
    body: ({ createdAt, opening }) => ({
      external_action_reference: `act ${variant}`,
      provider_transaction_reference: "txn_1",
      reported_accepted_at: new Date(createdAt).toISOString(),
      commitment_opening: opening
    }),
    expected: (authorization, now) => Oracle.reportOutcome(authorization, `commit ${variant}`, now)
  })

/** The caller reports that the action never happened. */
export const cancelAuthorization = (index: number, variant: number): LifecycleCommand =>
  reportOutcome(`cancel(${index}, ${variant})`, index, "RESERVED", {
    words: "is cancelled",
    path: "cancellation",
    body: () => ({
      reason: "EXECUTION_FAILED",
      execution_disposition: "NEVER_BECAME_POSSIBLE",
      external_credential_reference: `card ${variant}`
    }),
    expected: (authorization, now) => Oracle.reportOutcome(authorization, `cancel ${variant}`, now)
  })

/** The caller reports a refund. */
export const reportRefund = (index: number, amount: number): LifecycleCommand =>
  reportOutcome(`refund(${index}, ${amount})`, index, "COMMITTED", {
    words: `is refunded by ${amount}`,
    path: "refunds",
    body: (_, now) => ({
      amount,
      currency: "EUR",
      provider_refund_reference: "ref_1",
      reported_refunded_at: now
    }),
    expected: (authorization, now) => Oracle.reportRefund(authorization, amount, now)
  })

/** A write is sent again under its key: nothing happens twice. With another body, the key is refused. */
export const sendAgain = (index: number, isChanged: boolean): LifecycleCommand =>
  command(
    `send again(${index}${isChanged ? ", changed" : ""})`,
    async (model, run) => {
      const { body, key, mandate, method, path, resource } = pick(model.sent, index)
      const answer = await run.call(method, path, isChanged ? { reason: "something else" } : body, key)
      advance(model, run, answer)
      const words = `${method} ${path} is sent again${isChanged ? " with another body" : ""}`
      run.note(`${words}: ${answerOf(answer)}`)
      const isRight = isChanged
        ? answerOf(answer) === "idempotency_key_reused"
        : answer.isReplay && answer.body.id === resource
      if (!isRight)
        throw new Error(`${words}, and answered ${answer.status} ${answer.body?.code ?? answer.body?.id}`)
      await run.inspect(model, mandate)
    },
    ({ sent }) => sent.length > 0
  )

/** Time passes: so many milliseconds, or until just before, at or just after the next instant that matters. */
export const wait = (by: Oracle.Wait): LifecycleCommand =>
  command(
    `wait(${by})`,
    async (model, run) => {
      const { clock } = run.target
      if (clock === undefined) return
      model.now = Oracle.timeAfter(by, model.mandates, model.now)
      await clock.set(new Date(model.now).toISOString())
      run.note(`it is ${new Date(model.now).toISOString()}`)
      for (const mandate of model.mandates) await run.inspect(model, mandate)
    },
    () => true
  )

const index = fc.nat({ max: 9 })
const variant = fc.constantFrom(0, 0, 0, 1)

/** `fc.commands` draws each entry alike, so what makes a story long is there several times. */
const often = <A>(times: number, steps: fc.Arbitrary<A>): ReadonlyArray<fc.Arbitrary<A>> =>
  Array.from({ length: times }, () => steps)

/** The steps of a run, for `fc.commands`; add your own. */
export const commands = (): Array<fc.Arbitrary<LifecycleCommand>> => [
  mandateShapes.map(createMandate),
  ...often(2, index.map(approveMandate)),
  ...often(
    8,
    fc.tuple(index, proposalShapes).map(([at, shape]) => proposeAuthorization(at, shape))
  ),
  ...often(
    4,
    fc.tuple(index, variant).map(([at, content]) => commitAuthorization(at, content))
  ),
  ...often(
    2,
    fc.tuple(index, variant).map(([at, content]) => cancelAuthorization(at, content))
  ),
  fc.tuple(index, fc.constantFrom(10, 400, 5000)).map(([at, amount]) => reportRefund(at, amount)),
  fc.tuple(index, fc.constantFrom("r", "s")).map(([at, reason]) => revokeMandate(at, reason)),
  ...often(
    2,
    fc.tuple(fc.nat({ max: 30 }), fc.boolean()).map(([at, isChanged]) => sendAgain(at, isChanged))
  ),
  ...often(3, fc.constantFrom<Oracle.Wait>(1000, 3_600_000, "before", "at", "at", "after").map(wait))
]
