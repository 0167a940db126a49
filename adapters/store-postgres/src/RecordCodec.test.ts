import { assert, describe, it } from "@effect/vitest"
import type { Counters, MandateState, PeriodCounters } from "@svc/domain/mandate/MandateState"
import { createdChange, newAuthorization } from "@svc/testkit/StoreFixtures"
import { newPlace } from "@svc/testkit/store-contract/StoreUnderTest"
import * as fc from "fast-check"
import { readAuthorization, readMandate, writeAuthorization, writeMandate } from "./RecordCodec.ts"

const NOW = 1_767_225_600_000_000_000n

/** Text whose JSON differs from it: quotes, escapes, separators of lines. */
const texts = fc.string({ unit: "grapheme", maxLength: 20 })

const counters: fc.Arbitrary<Counters> = fc.record({
  committedAmount: fc.bigInt(),
  reservedAmount: fc.bigInt(),
  lateAmount: fc.bigInt(),
  committedExecutions: fc.nat(),
  reservedExecutions: fc.nat(),
  lateExecutions: fc.nat()
})

const periods: fc.Arbitrary<PeriodCounters> = fc.record({
  period: fc.nat(3),
  startsAt: fc.bigInt(),
  endsAt: fc.bigInt(),
  counters
})

/** What the state of a mandate has beside its terms. */
const others = fc.record(
  {
    state: fc.constantFrom("PENDING_APPROVAL", "ACTIVE", "REVOKED"),
    version: fc.nat(),
    createdAt: texts,
    updatedAt: texts,
    totals: counters,
    periods: fc.array(periods, { maxLength: 3 }),
    authorizationCount: fc.nat(),
    lateAuthorizations: fc.array(texts, { maxLength: 2 }),
    approvedAt: texts,
    endedAt: texts,
    revocationReason: texts
  },
  {
    requiredKeys: [
      "state",
      "version",
      "createdAt",
      "updatedAt",
      "totals",
      "periods",
      "authorizationCount",
      "lateAuthorizations"
    ]
  }
)

/** States of one mandate, which share its terms. */
const statesOfOne = fc
  .tuple(fc.option(texts, { nil: undefined }), fc.array(others, { minLength: 1, maxLength: 4 }))
  .map(([description, states]): ReadonlyArray<MandateState> => {
    const { terms: fixture } = createdChange(newPlace(), NOW).mandateState
    const terms = { ...fixture, ...(description === undefined ? {} : { description }) }
    return states.map((state) => ({ terms, ...state }))
  })

/** A record as its format is defined: all of the state as JSON, sums and instants as decimal strings. */
const recordOf = (value: MandateState): string =>
  JSON.stringify({ schema: 1, value }, (_, member) => (typeof member === "bigint" ? String(member) : member))

describe("the record of a mandate", () => {
  it("is the JSON of its state, however often its terms were written before", () => {
    fc.assert(
      fc.property(statesOfOne, (states) => {
        for (const state of states) {
          assert.strictEqual(writeMandate(state), recordOf(state))
          assert.deepStrictEqual(readMandate(writeMandate(state)), state)
        }
      })
    )
  })
})

it("an authorization is read with the attributes that it was written with, whatever was read before", () => {
  const authorization = newAuthorization(1, NOW)
  for (const name of ["z\\", 'z"', "z\n", "\\", "\n"]) {
    const attributes = { merchant: "m", [name]: "v" }
    const written = { ...authorization, proposedAction: { ...authorization.proposedAction, attributes } }
    assert.deepStrictEqual(readAuthorization(writeAuthorization(written)), written)
  }
})
