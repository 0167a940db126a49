import { appendFacts } from "@svc/domain/engine/AppendFacts"
import { asOf, type CurrentStream } from "@svc/domain/engine/CurrentStream"
import { makeIdentifier } from "@svc/domain/Identifiers"
import { type Command, decide } from "@svc/domain/mandate/Decide"
import { evolve } from "@svc/domain/mandate/Evolve"
import type { JournalFact } from "@svc/domain/mandate/JournalFact"
import type { StreamState } from "@svc/domain/mandate/MandateState"
import { MandateStore, OutOfTime } from "@svc/domain/ports/MandateStore"
import { type CommitBody, CreateAuthorizationBody } from "@svc/protocol/Authorization"
import type { JsonObject } from "@svc/protocol/json/Json"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { formatInstant } from "@svc/protocol/Timestamp"
import { commitReport } from "@svc/testkit/ProgramHarness"
import { Effect, Result } from "effect"

/** Proposals that one change takes. Below the number that may be open at a time. */
const BATCH = 100

const decodeProposal = decodeBody(CreateAuthorizationBody)

interface Decisions {
  readonly state: StreamState
  readonly facts: ReadonlyArray<JournalFact>
}

/** Decides commands one after another on what those before led to, to be recorded as one change. */
const decideAll = ({ head, now, state }: CurrentStream, commands: ReadonlyArray<Command>): Decisions =>
  commands.reduce<Decisions>(
    (before, command) => {
      const { facts } = Result.getOrThrow(decide(before.state, head.bytes, command, now))
      return { state: facts.reduce<StreamState>(evolve, before.state), facts: [...before.facts, ...facts] }
    },
    { state, facts: [] }
  )

const recordAll = Effect.fn("recordAll")(function* (
  current: CurrentStream,
  commands: ReadonlyArray<Command>
) {
  const { facts } = decideAll(current, commands)
  const claims = commands.flatMap((command) =>
    command._tag === "Propose"
      ? [
          {
            kind: "commitment" as const,
            name: command.body.commitment,
            fingerprint: "",
            resource: command.authorizationId
          }
        ]
      : []
  )
  return yield* appendFacts(current, { facts, claims })
})

/** Every other reservation is committed, the others cancelled. */
const closing = (authorizationId: string, number: number, at: string): Command =>
  number % 2 === 0
    ? {
        _tag: "Commit",
        authorizationId,
        body: commitReport(number, { reported_accepted_at: at }) as unknown as CommitBody
      }
    : {
        _tag: "Cancel",
        authorizationId,
        body: { reason: "CALLER_ABORTED", execution_disposition: "NEVER_BECAME_POSSIBLE" }
      }

export interface Filling {
  readonly organization: string
  readonly mandate: string
  /** Numbers of the proposals, so of their commitments: from `first`, as many as `count`. */
  readonly first: number
  readonly count: number
  readonly body: (number: number) => JsonObject
}

/** A slow machine may not record what was decided in time: then it is decided again. */
const untilInTime = Effect.retry({ while: (error: unknown) => error instanceof OutOfTime, times: 20 })

const proposeAll = Effect.fn("proposeAll")(
  function* ({ body, mandate, organization }: Filling, numbers: ReadonlyArray<number>) {
    const store = yield* MandateStore
    const { now, stream } = yield* store.load({ organization, stream: { mandate } })
    if (stream === undefined) return yield* Effect.die(new Error("the mandate is gone"))
    const proposals = yield* Effect.forEach(numbers, (number) =>
      Effect.map(
        makeIdentifier("aut_", now),
        (authorizationId): Command => ({
          _tag: "Propose",
          authorizationId,
          body: Result.getOrThrow(decodeProposal(body(number))),
          reportGraceSeconds: 0
        })
      )
    )
    return yield* recordAll(asOf(stream, now), proposals)
  },
  (effect) => untilInTime(effect)
)

const closeAll = Effect.fn("closeAll")(
  function* (proposed: CurrentStream, numbers: ReadonlyArray<number>) {
    const store = yield* MandateStore
    const { now } = yield* store.load({ organization: proposed.organization })
    const open = [...proposed.state.authorizations.values()].flatMap(({ id, state }, index) =>
      state === "RESERVED" ? [closing(id, numbers[index]!, formatInstant(now))] : []
    )
    if (open.length > 0) yield* recordAll({ ...proposed, now }, open)
  },
  (effect) => untilInTime(effect)
)

/**
 * Gives a mandate a history as its programs would have written it, many decisions to a change: proposals, and in a later
 * change the end of those that were allowed.
 */
export const fillMandate = Effect.fn("fillMandate")(function* (filling: Filling) {
  const { count, first } = filling
  for (let done = 0; done < count; done += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - done) }, (_, index) => first + done + index)
    yield* closeAll(yield* proposeAll(filling, numbers), numbers)
  }
})
