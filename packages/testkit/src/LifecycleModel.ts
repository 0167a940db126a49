import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { Authorization } from "@svc/protocol/Authorization"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import type { JsonObject } from "@svc/protocol/json/Json"
import type { Mandate, MandateStateName } from "@svc/protocol/Mandate"
import { Cause, Effect, Exit, Layer, ManagedRuntime } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import {
  type MandateShape,
  mandateShapes,
  type ProposalShape,
  proposalShapes,
  shapeBody
} from "./Arbitraries.ts"
import { type Auditor, makeAuditor } from "./Auditor.ts"
import { makeIdentityIssuer } from "./IdentityIssuer.ts"
import { replayJournal, snapshotFaults } from "./JournalReplay.ts"
import * as Oracle from "./LifecycleOracle.ts"
import {
  approveInCeremony,
  type Caller,
  cancelReport,
  commitReport,
  drawnOpening,
  HARNESS_START,
  harnessOrganization,
  makeCaller,
  type ProgramPorts,
  proposalBody,
  refundReport,
  storedJournal
} from "./ProgramHarness.ts"
import { makeSoftwarePasskey } from "./SoftwarePasskey.ts"

/** How long an outcome may still be reported after `execute_before`, by run, in milliseconds. */
const graces = fc.constantFrom(0, 60_000)

/** A write that succeeded, to be sent again. */
interface SentWrite {
  readonly operation: string
  readonly key: string
  readonly resource: string
  readonly mandate: Oracle.OracleMandate
  readonly send: (
    body: JsonObject | undefined
  ) => ProgramEffect<{ readonly resource: { readonly id: string }; readonly replayed: boolean }>
}

type ProgramEffect<A> = Effect.Effect<A, { readonly _tag: string }, ProgramPorts>

interface Model {
  readonly grace: number
  now: number
  numbers: number
  readonly mandates: Array<Oracle.OracleMandate>
  readonly authorizations: Array<Oracle.OracleAuthorization>
  readonly sent: Array<SentWrite>
}

interface Real {
  readonly caller: Caller
  readonly auditor: Auditor
  readonly run: <A>(effect: ProgramEffect<A>) => Promise<Exit.Exit<A, { readonly _tag: string }>>
  readonly approve: (mandate: Oracle.OracleMandate, inCeremony: boolean) => ProgramEffect<unknown>
}

const demand = (holds: boolean, what: () => string): void => {
  if (!holds) throw new Error(what())
}

const nowText = (model: Model): string => new Date(model.now).toISOString()

/** A success as `ok`, a refusal by its name and the state that it names; anything else ends the run. */
const answered = (exit: Exit.Exit<unknown, { readonly _tag: string }>): string => {
  if (Exit.isSuccess(exit)) return "ok"
  const refusal = Cause.findErrorOption(exit.cause)
  if (refusal._tag === "None") throw new Error(Cause.pretty(exit.cause))
  const { _tag, currentState } = refusal.value as { readonly _tag: string; readonly currentState?: string }
  return currentState === undefined ? _tag : `${_tag} ${currentState}`
}

const succeeded = async <A>(real: Real, effect: ProgramEffect<A>): Promise<A> => {
  const exit = await real.run(effect)
  if (Exit.isSuccess(exit)) return exit.value
  throw new Error(Cause.pretty(exit.cause))
}

/** Everything that is shown of a mandate, against the model, the auditor and a replay of its journal. */
const audit = async (model: Model, real: Real, mandate: Oracle.OracleMandate): Promise<void> => {
  Oracle.settleMandate(mandate, model.now)
  const { auditor, caller } = real
  const organization = caller.organization.id
  const shown = await succeeded(real, caller.read(mandate.id))
  const texts = await succeeded(real, storedJournal(organization, mandate.id))
  const stored = await succeeded(real, storedStream(organization, mandate.id))
  const page = await succeeded(real, caller.authorizations({ mandateId: mandate.id, limit: 100 }))
  auditor.journal(mandate.id, texts, nowText(model))
  auditor.mandateShown(shown, nowText(model))
  for (const entry of page.data) auditor.authorizationShown(entry, nowText(model))
  const faults = snapshotFaults(replayJournal(texts), stored)
  demand(faults.length === 0, () => faults.join("\n"))
  demand(
    shown.state === mandate.state && shown.version === mandate.version && texts.length === mandate.events,
    () =>
      `${mandate.id} is ${shown.state} v${shown.version} with ${texts.length} events, ` +
      `expected ${mandate.state} v${mandate.version} with ${mandate.events}`
  )
  const states = page.data.map(({ state }) => state).reverse()
  const expected = mandate.authorizations.map(({ state }) => state)
  demand(states.join() === expected.join(), () => `authorizations are ${states}, expected ${expected}`)
}

const storedStream = Effect.fnUntraced(function* (organization: string, mandate: string) {
  const store = yield* MandateStore
  const { stream } = yield* store.load({ organization, stream: { mandate } })
  if (stream === undefined) return yield* Effect.die(new Error(`${mandate} is not in the store`))
  const rows = yield* store.listAuthorizations({ organization, mandate, limit: 10_000 })
  const authorizations = new Map((rows?.authorizations ?? []).map((row) => [row.id, row]))
  return { ...stream.state, authorizations, head: stream.head }
})

const begin = Effect.fnUntraced(function* (caller: Caller) {
  yield* TestClock.setTime(HARNESS_START)
  const organizations = yield* Organizations
  yield* organizations.put(caller.organization)
})

type Step = (model: Model, real: Real) => Promise<void>

/** One step of a run; `needs` says what must be there for it to make sense. */
class LifecycleStep implements fc.AsyncCommand<Model, Real> {
  readonly title: string
  readonly needs: "nothing" | "mandate" | "authorization" | "write"
  readonly step: Step

  constructor(title: string, needs: LifecycleStep["needs"], step: Step) {
    this.title = title
    this.needs = needs
    this.step = step
  }

  check(model: Readonly<Model>): boolean {
    switch (this.needs) {
      case "nothing":
        return true
      case "mandate":
        return model.mandates.length > 0
      case "authorization":
        return model.authorizations.length > 0
      case "write":
        return model.sent.length > 0
    }
  }

  run(model: Model, real: Real): Promise<void> {
    return this.step(model, real)
  }

  toString(): string {
    return this.title
  }
}

/** The newest for 0, then backwards, around. */
const pick = <A>(list: ReadonlyArray<A>, index: number): A => {
  const found = list[list.length - 1 - (index % list.length)]
  if (found === undefined) throw new RangeError("nothing to pick from")
  return found
}

/** As {@link pick}, and while there are such, one of those that the run prefers. */
const pickThat = <A>(list: ReadonlyArray<A>, index: number, preferred: (entry: A) => boolean): A => {
  const found = list.filter(preferred)
  return pick(found.length === 0 || index >= ANY ? list : found, index)
}

/** Indices from here on pick from everything. */
const ANY = 5

/** Sends a write, compares its result, remembers it for replays, and audits its mandate. */
const write = async <A extends { readonly id: string }>(
  model: Model,
  real: Real,
  sending: {
    readonly operation: string
    readonly mandate: Oracle.OracleMandate
    readonly expected: Oracle.Expected
    readonly body: JsonObject
    readonly send: (
      body: JsonObject,
      key: string
    ) => ProgramEffect<{ readonly resource: A; readonly replayed: boolean }>
  }
): Promise<A | undefined> => {
  model.numbers += 1
  const { body, expected, mandate, operation, send } = sending
  // Other than the keys that a caller makes up for what the model does not name one for.
  const key = `write-${model.numbers}`
  const exit = await real.run(send(body, key))
  const answer = answered(exit)
  demand(answer === expected, () => `${operation}: answered ${answer}, expected ${expected}`)
  const resource = Exit.isSuccess(exit) ? exit.value.resource : undefined
  if (resource !== undefined) {
    if (mandate.id === "") mandate.id = resource.id
    real.auditor.written(operation, key, canonicalJson(body), resource.id)
    model.sent.push({
      operation,
      key,
      resource: resource.id,
      mandate,
      send: (other) => send(other ?? body, key)
    })
  }
  await audit(model, real, mandate)
  return resource
}

const create = (shape: MandateShape) =>
  new LifecycleStep(`create ${JSON.stringify(shape)}`, "nothing", async (model, real) => {
    const mandate = Oracle.newMandate(shape, model.now)
    await write<Mandate>(model, real, {
      operation: "create",
      mandate,
      expected: "ok",
      body: shapeBody(shape, model.now),
      send: real.caller.create
    })
    model.mandates.push(mandate)
  })

const answer = (index: number, how: "directly" | "in the ceremony" | "decline") =>
  new LifecycleStep(`answer(${index}, ${how})`, "mandate", async (model, real) => {
    const mandate = pick(model.mandates, index)
    const expected = Oracle.answer(mandate, how !== "decline", model.now)
    const given = answered(
      await real.run(
        how === "decline" ? real.caller.reject(mandate.id) : real.approve(mandate, how === "in the ceremony")
      )
    )
    demand(given === expected, () => `answer ${how}: ${given}, expected ${expected}`)
    await audit(model, real, mandate)
  })

const revoke = (index: number, reason: string) =>
  new LifecycleStep(`revoke(${index}, ${reason})`, "mandate", async (model, real) => {
    const mandate = pick(model.mandates, index)
    await write<Mandate>(model, real, {
      operation: "revoke",
      mandate,
      expected: Oracle.revoke(mandate, reason, model.now),
      body: { reason },
      send: (body, key) => real.caller.revoke(mandate.id, body, key)
    })
  })

const proposalOf = (number: number, shape: ProposalShape): JsonObject => ({
  ...proposalBody(number),
  execution_window_seconds: shape.window,
  proposed_action: {
    action: shape.action,
    ...(shape.merchant === undefined ? {} : { attributes: { merchant: shape.merchant } }),
    payment: { amount: shape.amount, currency: shape.currency }
  }
})

const propose = (index: number, shape: ProposalShape, reuse: boolean) =>
  new LifecycleStep(
    `propose(${index}, ${JSON.stringify(shape)}${reuse ? ", a used commitment" : ""})`,
    "mandate",
    async (model, real) => {
      const mandate = pickThat(model.mandates, index, ({ state }) => state === "ACTIVE")
      const send = (body: JsonObject, key: string) => real.caller.propose(mandate.id, body, key)
      const operation = "propose"
      const usedBefore = model.authorizations.at(-1)
      if (reuse && usedBefore !== undefined) {
        const body = proposalOf(usedBefore.number, shape)
        await write<Authorization>(model, real, {
          operation,
          mandate,
          expected: "CommitmentReused",
          body,
          send
        })
        return
      }
      const number = model.authorizations.length + 1
      const at = { now: model.now, grace: model.grace }
      const { authorization, codes } = Oracle.decideProposal(mandate, number, shape, at)
      const body = proposalOf(number, shape)
      const decided = await write<Authorization>(model, real, {
        operation,
        mandate,
        expected: "ok",
        body,
        send
      })
      const told = decided?.reasons.map(({ code }) => code) ?? []
      demand(
        decided?.state === authorization.state && told.join() === codes.join(),
        () => `decided ${decided?.state} ${told}, expected ${authorization.state} ${codes}`
      )
      authorization.id = decided?.id ?? ""
      model.authorizations.push(authorization)
    }
  )

const commit = (index: number, variant: number, fault: "none" | "opening" | "future") =>
  new LifecycleStep(`commit(${index}, ${variant}, ${fault})`, "authorization", async (model, real) => {
    const authorization = pickThat(model.authorizations, index, ({ state }) => state === "RESERVED")
    const { mandate } = authorization
    const body = commitReport(authorization.number, {
      external_action_reference: `act ${variant}`,
      reported_accepted_at: new Date(
        fault === "future" ? model.now + 301_000 : authorization.createdAt
      ).toISOString(),
      ...(fault === "opening" ? { commitment_opening: drawnOpening(1_000_000).opening } : {})
    })
    const expected =
      fault === "none"
        ? Oracle.reportOutcome(authorization, `commit ${variant}`, model.now)
        : fault === "opening"
          ? "CommitmentMismatch"
          : "ValidationFailed"
    await write<Authorization>(model, real, {
      operation: "commit",
      mandate,
      expected,
      body,
      send: (sent, key) => real.caller.commit(authorization.id, sent, key)
    })
  })

const cancel = (index: number, variant: number) =>
  new LifecycleStep(`cancel(${index}, ${variant})`, "authorization", async (model, real) => {
    const authorization = pickThat(model.authorizations, index, ({ state }) => state === "RESERVED")
    await write<Authorization>(model, real, {
      operation: "cancel",
      mandate: authorization.mandate,
      expected: Oracle.reportOutcome(authorization, `cancel ${variant}`, model.now),
      body: cancelReport({ external_credential_reference: `card ${variant}` }),
      send: (sent, key) => real.caller.cancel(authorization.id, sent, key)
    })
  })

const refund = (index: number, amount: number) =>
  new LifecycleStep(`refund(${index}, ${amount})`, "authorization", async (model, real) => {
    const authorization = pickThat(model.authorizations, index, ({ state }) => state === "COMMITTED")
    await write<Authorization>(model, real, {
      operation: "refund",
      mandate: authorization.mandate,
      expected: Oracle.reportRefund(authorization, amount, model.now),
      body: refundReport(amount),
      send: (sent, key) => real.caller.refund(authorization.id, sent, key)
    })
  })

/** Sends a write again under its key: the one resource as it now is; or with another body: a conflict. */
const sendAgain = (index: number, changed: boolean) =>
  new LifecycleStep(`send again(${index}${changed ? ", changed" : ""})`, "write", async (model, real) => {
    const sent = pick(model.sent, index)
    const exit = await real.run(sent.send(changed ? { reason: "something else" } : undefined))
    const given = answered(exit)
    const expected = changed ? "IdempotencyKeyReused" : "ok"
    demand(given === expected, () => `${sent.operation} again: ${given}, expected ${expected}`)
    if (Exit.isSuccess(exit)) {
      demand(
        exit.value.replayed && exit.value.resource.id === sent.resource,
        () => `${sent.operation} again: not the replay of ${sent.resource}`
      )
    }
    await audit(model, real, sent.mandate)
    if (Exit.isSuccess(exit) && exit.value.resource.id.startsWith("aut_")) {
      real.auditor.authorizationShown(exit.value.resource, nowText(model))
    }
  })

const read = (index: number) =>
  new LifecycleStep(`read(${index})`, "authorization", async (model, real) => {
    const authorization = pick(model.authorizations, index)
    const shown = await succeeded(real, real.caller.readAuthorization(authorization.id))
    await audit(model, real, authorization.mandate)
    real.auditor.authorizationShown(shown, nowText(model))
  })

const STATES: ReadonlyArray<MandateStateName | undefined> = [
  undefined,
  "ACTIVE",
  "SCHEDULED",
  "EXPIRED",
  "PENDING_APPROVAL"
]

const list = (state: MandateStateName | undefined) =>
  new LifecycleStep(`list(${state ?? "all"})`, "mandate", async (model, real) => {
    const page = await succeeded(
      real,
      real.caller.list({ limit: 100, ...(state === undefined ? {} : { state }) })
    )
    for (const mandate of model.mandates) Oracle.settleMandate(mandate, model.now)
    const expected = model.mandates
      .filter((mandate) => state === undefined || mandate.state === state)
      .map((mandate) => `${mandate.id} ${mandate.state}`)
      .sort()
    const shown = page.data.map((mandate) => `${mandate.id} ${mandate.state}`).sort()
    demand(shown.join() === expected.join(), () => `listed ${shown}, expected ${expected}`)
    for (const mandate of model.mandates) await audit(model, real, mandate)
  })

const evidence = (index: number) =>
  new LifecycleStep(`evidence(${index})`, "mandate", async (model, real) => {
    const mandate = pick(model.mandates, index)
    const envelope = await succeeded(real, real.caller.evidence(mandate.id))
    await audit(model, real, mandate)
    const payload = new TextDecoder().decode(decodeBase64Url(envelope.payload))
    real.auditor.evidenceServed(mandate.id, payload)
  })

/** Time passes: a little, or to just before, at or just after the next instant that matters. */
const wait = (by: Oracle.Wait) =>
  new LifecycleStep(`wait(${by})`, "nothing", async (model, real) => {
    model.now = Oracle.timeAfter(by, model.mandates, model.now)
    await succeeded(real, TestClock.setTime(model.now))
  })

const index = fc.nat({ max: 9 })
const variant = fc.constantFrom(0, 0, 0, 1)

/** The same kind of step several times over: fc.commands draws each entry alike. */
const often = <A>(times: number, steps: fc.Arbitrary<A>): ReadonlyArray<fc.Arbitrary<A>> =>
  Array.from({ length: times }, () => steps)

/** Steps of a run, with the weights that make its stories long. */
const steps: Array<fc.Arbitrary<LifecycleStep>> = [
  mandateShapes.map(create),
  ...often(
    2,
    fc
      .tuple(index, fc.constantFrom("directly", "directly", "directly", "in the ceremony", "decline"))
      .map(([at, how]) => answer(at, how as Parameters<typeof answer>[1]))
  ),
  ...often(
    9,
    fc.tuple(index, proposalShapes).map(([at, shape]) => propose(at, shape, false))
  ),
  fc.tuple(index, proposalShapes).map(([at, shape]) => propose(at, shape, true)),
  ...often(
    4,
    fc.tuple(index, variant).map(([at, content]) => commit(at, content, "none"))
  ),
  fc
    .tuple(index, variant, fc.constantFrom("opening", "future"))
    .map(([at, content, fault]) => commit(at, content, fault as Parameters<typeof commit>[2])),
  ...often(
    2,
    fc.tuple(index, variant).map(([at, content]) => cancel(at, content))
  ),
  fc.tuple(index, fc.constantFrom(10, 400, 5000)).map(([at, amount]) => refund(at, amount)),
  fc
    .tuple(fc.constantFrom(0, 1, 2, 3, 4, 5), index, fc.constantFrom("r", "r", "s"))
    .map(([gate, at, reason]) => (gate === 5 ? revoke(at, reason) : read(at))),
  ...often(
    2,
    fc.tuple(fc.nat({ max: 30 }), fc.boolean()).map(([at, changed]) => sendAgain(at, changed))
  ),
  index.map(read),
  fc.constantFrom(...STATES).map(list),
  index.map(evidence),
  fc.constantFrom(1, 1000, 30_000, 3_600_000).map(wait),
  ...often(2, fc.constantFrom("before" as const, "at" as const, "at" as const, "after" as const).map(wait))
]

/** How a run begins, so that most of it happens on mandates that are approved. */
const beginning = fc.array(mandateShapes, { minLength: 1, maxLength: 3 })

export interface LifecycleRun {
  /** A new store and everything beside it, once per run. */
  readonly ports: () => Layer.Layer<ProgramPorts>
  readonly runs: number
  /** Replays the runs of that seed; absent: another each time. */
  readonly seed?: number
  /** Replays one run alone: the `path` that a failure names. */
  readonly path?: string
  /** Most steps of a run; default 80. */
  readonly maxSteps?: number
}

/**
 * Runs random lives of mandates through the programs, each step against the model, the auditor, and a replay of the
 * journal. Fails with the seed and the shortest story found.
 */
export const checkLifecycle = (options: LifecycleRun): Promise<void> => {
  const property = fc.asyncProperty(
    graces,
    beginning,
    fc.commands(steps, { maxCommands: options.maxSteps ?? 80, size: "max" }),
    async (grace, shapes, commands) => {
      const issuer = makeIdentityIssuer({ issuer: "https://id.example", audience: "svc" })
      const passkey = makeSoftwarePasskey({ origin: "https://approve.svc.test" })
      const caller = makeCaller(
        harnessOrganization({
          reportGraceSeconds: grace / 1000,
          identity: {
            issuer: issuer.issuer,
            audience: issuer.audience,
            algorithms: ["ES256"],
            keys: { jwks: issuer.publicJwks }
          }
        })
      )
      const runtime = ManagedRuntime.make(Layer.mergeAll(options.ports(), TestClock.layer()))
      const real: Real = {
        caller,
        auditor: makeAuditor({ check: (name, holds, about) => demand(holds, () => `${name}: ${about}`) }),
        run: (effect) => runtime.runPromiseExit(effect),
        approve: ({ id, shape }, inCeremony) =>
          inCeremony
            ? approveInCeremony(caller, { issuer, passkey }, { id, subject_reference: shape.subject })
            : caller.approve(id)
      }
      await succeeded(real, begin(caller))
      const model: Model = {
        grace,
        now: HARNESS_START,
        numbers: 0,
        mandates: [],
        authorizations: [],
        sent: []
      }
      try {
        for (const shape of shapes) {
          await create(shape).run(model, real)
          await answer(0, "directly").run(model, real)
        }
        await fc.asyncModelRun(() => ({ model, real }), commands)
      } finally {
        await runtime.dispose()
      }
    }
  )
  return fc.assert(property, {
    numRuns: options.runs,
    ...(options.seed === undefined ? {} : { seed: options.seed }),
    ...(options.path === undefined ? {} : { path: options.path })
  })
}
