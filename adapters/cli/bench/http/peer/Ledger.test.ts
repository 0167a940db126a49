import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import type { Command } from "./Command.ts"
import { type Change, hashOf, type Mandate } from "./Decisions.ts"
import { Ledger } from "./Ledger.ts"

const NOW = new Date("2026-12-01T00:00:10Z")
const OPENING = Buffer.alloc(32, 7)
const COMMITMENT = createHash("sha256")
  .update("svc:authorization:commitment:v1\n")
  .update(OPENING)
  .digest("base64url")

const MANDATE: Mandate = {
  id: "mnd",
  status: "ACTIVE",
  currency: "EUR",
  maxAmount: 5000,
  allowedActions: ["card.create"],
  endsAt: new Date("2027-01-01T00:00:00Z"),
  monthLimit: 250,
  seq: 0,
  head: ""
}
const KEYED = { organization: "org", key: "key", fingerprint: "fingerprint" }

const proposal = (amount: number): Command => ({
  ...KEYED,
  kind: "propose",
  mandate: "mnd",
  body: {
    external_reference: "order",
    proposed_action: { action: "card.create", payment: { amount, currency: "EUR" } },
    execution_window_seconds: 60,
    commitment: COMMITMENT
  }
})

const report = (authorization: string, opening = OPENING): Command => ({
  ...KEYED,
  kind: "commit",
  authorization,
  body: {
    external_action_reference: "act",
    provider_transaction_reference: "txn",
    reported_accepted_at: NOW.toISOString(),
    commitment_opening: opening.toString("base64url")
  }
})

const ledgerOf = (rows: Partial<ConstructorParameters<typeof Ledger>[0]> = {}) =>
  new Ledger({ mandates: [MANDATE], budgets: [], reported: [], due: [], ...rows })

/** The rows that a change leaves. */
const rowsOf = ({ authorization, budget, mandate }: Change) => ({
  mandates: [mandate],
  budgets: [budget],
  reported: [authorization]
})

const reserve = (amount: number): Change => ledgerOf().carryOut(proposal(amount), NOW).changes[0]!

describe("Ledger", () => {
  it("decides each proposal on the budget that the one before has left, in one chain of events", () => {
    const ledger = ledgerOf()
    const decided = [100, 100, 100].map((amount) => ledger.carryOut(proposal(amount), NOW))
    assert.deepStrictEqual(
      decided.map(({ answer }) => JSON.parse(answer.body).decision),
      ["ALLOW", "ALLOW", "DENY"]
    )
    const events = decided.flatMap(({ changes }) => changes.map(({ event }) => event))
    assert.deepStrictEqual(
      events.map(({ seq }) => seq),
      [1, 2, 3]
    )
    const head = events.reduce((previous, { text }) => hashOf(previous, text), "")
    assert.strictEqual(events[2]?.hash, head)
  })

  it("spends a reservation once, for whoever has the opening", () => {
    const reserved = reserve(100)
    const ledger = ledgerOf(rowsOf(reserved))
    const { id } = reserved.authorization
    const status = (command: Command) => ledger.carryOut(command, NOW).answer.status
    assert.strictEqual(status(report(id, Buffer.alloc(32, 8))), 422)
    const { answer, changes } = ledger.carryOut(report(id), NOW)
    assert.strictEqual(JSON.parse(answer.body).state, "COMMITTED")
    assert.include(changes[0]?.budget, { reserved: 0, committed: 100, executions: 1 })
    assert.strictEqual(status(report(id)), 409)
    assert.strictEqual(status(report("unknown")), 404)
  })

  it("releases what expired, of the budget of its own month, before the next proposal", () => {
    const reserved = reserve(200)
    const { reported, ...rows } = rowsOf(reserved)
    const later = new Date("2026-12-01T00:01:10Z")
    const { answer, changes } = ledgerOf({ ...rows, due: reported }).carryOut(proposal(200), later)
    assert.strictEqual(JSON.parse(answer.body).decision, "ALLOW")
    assert.deepStrictEqual(
      changes.map(({ authorization, budget }) => [authorization.state, budget.reserved]),
      [
        ["EXPIRED", 0],
        ["RESERVED", 200]
      ]
    )
    assert.strictEqual(
      ledgerOf({ ...rows, reported }).carryOut(report(reported[0]!.id), later).answer.status,
      409
    )
  })
})
