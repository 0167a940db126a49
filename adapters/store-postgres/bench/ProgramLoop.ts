import { MandateStore } from "@svc/domain/ports/MandateStore"
import { formatInstant } from "@svc/protocol/Timestamp"
import {
  commitReport,
  harnessOrganization,
  makeCaller,
  type ProgramPorts,
  proposalBody,
  recurringBody
} from "@svc/testkit/ProgramHarness"
import { DAY, newIdentifier } from "@svc/testkit/StoreFixtures"
import { Effect } from "effect"

const AMOUNT = 100
/** Below the most authorizations that a mandate may have. */
const PAIRS_PER_MANDATE = 9000

/** Pairs of authorize and commit, each client on a mandate of its own, until the time is over; pairs per second. */
export const programLoop = (run: {
  readonly clients: number
  readonly seconds: number
}): Effect.Effect<number, unknown, ProgramPorts> =>
  Effect.gen(function* () {
    const caller = makeCaller(harnessOrganization({ id: newIdentifier("org_") }))
    const store = yield* MandateStore
    const { now } = yield* store.load({ organization: caller.organization.id })
    const report = { reported_accepted_at: formatInstant(now) }
    const newMandate = Effect.gen(function* () {
      const policy = { periods: [{ unit: "MONTH", max_amount: Number.MAX_SAFE_INTEGER }] }
      const body = recurringBody(policy, { window: { ends_at: formatInstant(now + 30n * DAY) } })
      const created = yield* caller.create(body)
      yield* caller.approve(created.resource.id)
      return created.resource.id
    })
    let number = 0
    let pairs = 0
    const deadline = { at: Number.POSITIVE_INFINITY }
    const mandates = yield* Effect.all(Array.from({ length: run.clients }, () => newMandate))
    const client = Effect.fnUntraced(function* (first: string) {
      let mandate = first
      for (let made = 1; performance.now() < deadline.at; made++) {
        if (made % PAIRS_PER_MANDATE === 0) mandate = yield* newMandate
        number += 1
        const own = number
        const { resource } = yield* caller.propose(mandate, proposalBody(own, AMOUNT))
        if (resource.state !== "RESERVED") return yield* Effect.die(new Error(JSON.stringify(resource)))
        yield* caller.commit(resource.id, commitReport(own, report))
        pairs += 1
      }
    })
    const begun = performance.now()
    deadline.at = begun + run.seconds * 1000
    yield* Effect.forEach(mandates, client, { concurrency: "unbounded" })
    return (pairs * 1000) / (performance.now() - begun)
  })
