/** Journals of a random walk: commands at random times, most of which have an effect. */
import {
  CREATED,
  DAY,
  HOUR,
  identifierOf,
  type Journal,
  recurringBody,
  SECOND,
  singleBody,
  tellJournal,
  termsOf
} from "@svc/testkit/EvidenceMaker"
import { drawsOf } from "./Forger.ts"

const STEPS = 40

const bodies = [
  singleBody(),
  recurringBody(),
  recurringBody({ max_total_amount: 12_000, max_executions: 6 }),
  recurringBody({
    periods: [
      { unit: "WEEK", time_zone: "America/New_York", max_executions: 3, first_period: "PRORATED" },
      { unit: "DAY", interval: 3, alignment: "MANDATE", time_zone: "Asia/Beirut", max_amount: 7000 }
    ]
  })
]

/** The journal of a seed, and an instant at which its evidence is generated. */
export const randomJournal = (seed: number): { readonly journal: Journal; readonly generated: bigint } => {
  const draw = drawsOf(seed)
  const journal = tellJournal(termsOf(bodies[draw(bodies.length)]!, identifierOf("mnd_", seed)))
  let now = CREATED + BigInt(draw(3600)) * SECOND
  if (draw(10) > 0) journal.approve(now)
  else journal.tell({ _tag: "Reject", approvalSessionId: identifierOf("aps_", 1) }, now)
  now += 4n * DAY
  let proposed = 0
  const some = () => seed * 1000 + 1 + draw(Math.max(1, proposed))
  const step = [
    () => {
      proposed += 1
      journal.propose(seed * 1000 + proposed, now, {
        amount: 500 + draw(5000),
        window: 30 + draw(7200),
        grace: draw(2) * 600,
        ...(draw(8) === 0 ? { currency: "USD" } : {}),
        ...(draw(8) === 0 ? { merchant: null } : {}),
        ...(draw(8) === 0 ? { merchant: "mrc_43" } : {})
      })
    },
    () => journal.commit(some(), now),
    () => journal.cancel(some(), now),
    () => journal.refund(some(), 1 + draw(900), now),
    () => (draw(20) === 0 ? journal.tell({ _tag: "Revoke", reason: "no longer wanted" }, now) : undefined)
  ]
  for (let count = 0; count < STEPS; count++) {
    now += BigInt(draw(3) === 0 ? draw(200_000) : draw(900)) * SECOND + BigInt(draw(1_000_000_000))
    step[Math.min(draw(9), 8) % 5]!()
    if (draw(2) === 0) step[0]!()
  }
  return { journal, generated: now + BigInt(draw(48)) * HOUR }
}
