import { assert, it } from "@effect/vitest"
import {
  bytesOf,
  CREATED,
  DAY,
  GENERATED,
  HOUR,
  type Journal,
  keySet,
  longLife,
  recurringBody,
  SECOND,
  signPayload,
  tellJournal,
  termsOf
} from "@svc/testkit/EvidenceMaker"
import { replayEvidence } from "@svc/verifier"
import { addUpBudgets } from "./Budgets.ts"

const START = CREATED + 4n * DAY

/** Reservations that are reported, cancelled, expired or reported late in a later period than they were made in. */
const overPeriods = (): Journal => {
  const journal = tellJournal(
    termsOf(
      recurringBody({
        periods: [
          { unit: "DAY", time_zone: "UTC", max_amount: 9000 },
          { unit: "MONTH", time_zone: "Europe/Berlin", max_amount: 9000, first_period: "PRORATED" }
        ]
      })
    )
  )
  journal.approve(CREATED + HOUR)
  for (const number of [1, 2, 3, 4]) {
    journal.propose(number, START + BigInt(number) * SECOND, { amount: number * 100, window: 86_400 })
  }
  journal.commit(1, START + 23n * HOUR)
  journal.cancel(2, START + 23n * HOUR)
  journal.commit(3, START + 30n * HOUR)
  journal.propose(5, START + 31n * HOUR, { amount: 500 })
  return journal
}

it("the budgets of periods are those that the replay tells, while a period is current", async () => {
  for (const [journal, generated] of [
    [longLife(), GENERATED],
    [overPeriods(), START + 40n * HOUR]
  ] as const) {
    const { events, report } = await replayEvidence(bytesOf(signPayload(journal.payload(generated))), keySet)
    assert.strictEqual(report.verdict, "valid")
    const { budgets, next } = addUpBudgets()
    for (const replayed of events) {
      next(replayed)
      const { totals, periods } = budgets()
      for (const told of [replayed.usage, ...replayed.usage.periods]) {
        const used =
          "starts_at" in told
            ? periods.find(({ entry, startsAt }) => entry === told.period && startsAt === told.starts_at)
                ?.used
            : totals
        assert.deepStrictEqual(used, {
          committed: BigInt(told.committed_amount),
          late: BigInt(told.late_amount),
          reserved: BigInt(told.reserved_amount),
          committedExecutions: told.committed_executions,
          lateExecutions: told.late_executions,
          reservedExecutions: told.reserved_executions
        })
      }
    }
  }
})

it("what is reported after a period ended still counts in that period", async () => {
  const evidence = bytesOf(signPayload(overPeriods().payload(START + 40n * HOUR)))
  const { events } = await replayEvidence(evidence, keySet)
  const { budgets, next } = addUpBudgets()
  for (const replayed of events) next(replayed)
  const days = budgets().periods.filter(({ entry }) => entry === 0)
  const first = days.find(({ startsAt }) => startsAt.startsWith("2026-12-02"))
  assert.strictEqual(first?.used.committed, 100n)
  assert.strictEqual(first?.used.late, 0n)
  assert.strictEqual(first?.used.reserved, 0n)
  assert.strictEqual(budgets().totals.late, 300n)
})
