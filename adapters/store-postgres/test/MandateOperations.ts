import { readEventFeed } from "@svc/domain/programs/EventFeed"
import { formatInstant, type Instant } from "@svc/protocol/Timestamp"
import { type Caller, commitReport, proposalBody } from "@svc/testkit/ProgramHarness"
import { Effect } from "effect"
import { newCaller, roomyBody } from "./ProgramsOnPostgres.ts"

/** A mandate with authorizations behind it. */
export interface History {
  readonly caller: Caller
  readonly mandate: string
  /** Its first authorization that was committed. */
  readonly committed: string
  /** Numbers of proposals to come. */
  readonly next: () => number
}

let commitments = 0

const nextNumber = (): number => {
  commitments += 1
  return commitments
}

/** A mandate of a new organization with the given number of authorizations, all closed. */
export const newHistory = Effect.fn("newHistory")(function* (now: Instant, count: number) {
  const caller = newCaller()
  const { resource } = yield* caller.create(roomyBody(now))
  const mandate = resource.id
  yield* caller.approve(mandate)
  const report = { reported_accepted_at: formatInstant(now) }
  const ids = yield* Effect.forEach(Array.from({ length: count }), () =>
    Effect.gen(function* () {
      const number = nextNumber()
      const { resource: authorization } = yield* caller.propose(mandate, proposalBody(number))
      yield* caller.commit(authorization.id, commitReport(number, report))
      return authorization.id
    })
  )
  const history: History = { caller, mandate, committed: ids[0]!, next: nextNumber }
  return history
})

/** What is done to a mandate, each leaving as many reservations open as it found. */
export const operationsOn = ({ caller, committed, mandate, next }: History, now: Instant) => {
  const number = next()
  const report = { reported_accepted_at: formatInstant(now), reported_refunded_at: formatInstant(now) }
  let open = ""
  let cursor: string | null = null
  let fed = ""
  const organization = caller.organization.id
  const page = { mandateId: mandate, limit: 3 }
  return [
    ["read mandate", caller.read(mandate)],
    ["read authorization", caller.readAuthorization(committed)],
    [
      "propose",
      Effect.tap(caller.propose(mandate, proposalBody(number), `operation-${number}`), ({ resource }) =>
        Effect.sync(() => {
          open = resource.id
        })
      )
    ],
    ["replay", caller.propose(mandate, proposalBody(number), `operation-${number}`)],
    [
      "commit",
      Effect.suspend(() =>
        caller.commit(open, commitReport(number, { reported_accepted_at: report.reported_accepted_at }))
      )
    ],
    ["list events", caller.events(page)],
    [
      "list authorizations",
      Effect.tap(caller.authorizations(page), ({ next_cursor }) =>
        Effect.sync(() => {
          cursor = next_cursor
        })
      )
    ],
    ["list authorizations on", Effect.suspend(() => caller.authorizations({ ...page, cursor: cursor! }))],
    ["list authorizations by state", caller.authorizations({ ...page, state: "COMMITTED" })],
    ["list open authorizations", caller.authorizations({ ...page, state: "RESERVED" })],
    [
      "read the feed",
      Effect.tap(readEventFeed({ organization, limit: 3 }), ({ next_cursor }) =>
        Effect.sync(() => {
          fed = next_cursor
        })
      )
    ],
    ["read the feed on", Effect.suspend(() => readEventFeed({ organization, limit: 3, after: fed }))],
    ["list mandates", caller.list({ limit: 3 })],
    ["list mandates by state", caller.list({ limit: 3, state: "ACTIVE" })],
    ["list mandates by subject", caller.list({ limit: 3, subjectReference: "user_8f2" })]
  ] as const
}
