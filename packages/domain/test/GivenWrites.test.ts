import { assert, describe, it } from "@effect/vitest"
import {
  harnessOrganization,
  makeCaller,
  proposalBody,
  recurringBody,
  storedJournal
} from "@svc/testkit/ProgramHarness"
import { Effect, Fiber } from "effect"
import type { Organization } from "../src/organization/Organization.ts"
import { proposeAuthorization } from "../src/programs/Authorizations.ts"
import { createMandate, listMandates } from "../src/programs/Mandates.ts"
import { fromTheStart, memoryPrograms, racingPrograms } from "./MemoryPrograms.ts"

const caller = makeCaller()

const activeMandate = Effect.gen(function* () {
  yield* fromTheStart
  const { resource } = yield* caller.create(recurringBody())
  yield* caller.approve(resource.id)
  return resource.id
})

/** A proposal whose amount is another one each time that it is read. */
const shiftingProposal = () => {
  let reads = 0
  const payment = {
    currency: "EUR",
    get amount() {
      reads += 1
      return reads * 1000
    }
  }
  return proposalBody(1, 1000, { proposed_action: { action: "card.create", payment } })
}

describe("a write", () => {
  it.effect("is decided, recorded and fingerprinted on one reading of its body", () =>
    Effect.gen(function* () {
      const mandate = yield* activeMandate
      const { resource } = yield* caller.propose(mandate, shiftingProposal(), "k")
      assert.deepStrictEqual(resource.proposed_action.payment, { amount: 1000, currency: "EUR" })
      const journal = yield* storedJournal(caller.organization.id, mandate)
      assert.include(journal.at(-1), '"amount":1000,')
      assert.isTrue((yield* caller.propose(mandate, proposalBody(1, 1000), "k")).replayed)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is not changed by a caller that changes its request while the store works", () =>
    Effect.gen(function* () {
      const mandate = yield* activeMandate
      const payment = { amount: 1000, currency: "EUR" }
      const request = {
        organization: { ...caller.organization },
        idempotencyKey: "k",
        body: proposalBody(1, 1000, { proposed_action: { action: "card.create", payment } }),
        mandateId: mandate
      }
      const proposing = yield* Effect.forkChild(proposeAuthorization(request), { startImmediately: true })
      payment.amount = 4000
      Object.assign(request, { idempotencyKey: "other", mandateId: "mnd_00000000000000000000000000" })
      Object.assign(request.organization, { reportGraceSeconds: 3600 })
      const { resource } = yield* Fiber.join(proposing)
      assert.strictEqual(resource.proposed_action.payment.amount, 1000)
      assert.isTrue((yield* caller.propose(mandate, proposalBody(1, 1000), "k")).replayed)
    }).pipe(Effect.provide(racingPrograms()))
  )

  it.effect("leaves the caller's objects as they are, to be changed and used again", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const policy = { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] }
      const body = { ...recurringBody(), kind: "SINGLE", policy }
      yield* caller.create(body)
      policy.allowed_actions.push("card.charge")
      const { resource } = yield* caller.create(body)
      assert.deepStrictEqual(resource.policy.allowed_actions, ["card.create", "card.charge"])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("for an organization of another environment is refused", () =>
    Effect.gen(function* () {
      const organization: Organization = harnessOrganization({ environment: "live" })
      const write = { organization, idempotencyKey: "k", body: recurringBody() }
      assert.strictEqual((yield* Effect.flip(createMandate(write)))._tag, "OrganizationUnknown")
      const { data } = yield* listMandates({ organization: organization.id, limit: 1 })
      assert.lengthOf(data, 0)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("without an idempotency key is told apart from one with a malformed key", () =>
    Effect.gen(function* () {
      const { organization } = caller
      const tag = (idempotencyKey: string) =>
        Effect.map(
          Effect.flip(createMandate({ organization, idempotencyKey, body: recurringBody() })),
          ({ _tag }) => _tag
        )
      assert.strictEqual(yield* tag(""), "IdempotencyKeyRequired")
      assert.strictEqual(yield* tag("k".repeat(256)), "IdempotencyKeyInvalid")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("with several values that are not JSON is told of each", () =>
    Effect.gen(function* () {
      const policy = { currency: "EUR", max_amount: 10n, allowed_actions: ["a", undefined, "b\ud800"] }
      const body = { ...recurringBody(), policy } as never
      const refused = yield* Effect.flip(caller.create(body))
      assert.deepStrictEqual(
        refused._tag === "ValidationFailed" && refused.errors.map(({ pointer }) => pointer),
        ["/policy/max_amount", "/policy/allowed_actions/1", "/policy/allowed_actions/2"]
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
