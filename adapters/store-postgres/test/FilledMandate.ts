import { type Command, decide } from "@svc/domain/Decide"
import { makeIdentifier } from "@svc/domain/Identifiers"
import type { JournalFact } from "@svc/domain/JournalFact"
import type { StreamState } from "@svc/domain/MandateState"
import { type ClaimKind, MandateStore } from "@svc/domain/ports/MandateStore"
import { bringUpToDate, type CurrentStream, record } from "@svc/domain/programs/StreamProgram"
import { type CommitBody, CreateAuthorizationBody } from "@svc/protocol/Authorization"
import { decodeBody } from "@svc/protocol/DecodeBody"
import type { JsonObject } from "@svc/protocol/Json"
import { formatInstant } from "@svc/protocol/Timestamp"
import { commitReport } from "@svc/testkit/ProgramHarness"
import { Effect, Result } from "effect"

/** Proposals that one change takes. Below the number that may be open at a time. */
const BATCH = 200

const decodeProposal = decodeBody(CreateAuthorizationBody)

interface Decisions {
  readonly state: StreamState
  readonly facts: ReadonlyArray<JournalFact>
}

/** Decides commands one after another on what those before led to, to be recorded as one change. */
const decideAll = ({ head, now, state }: CurrentStream, commands: ReadonlyArray<Command>): Decisions =>
  commands.reduce<Decisions>(
    (before, command) => {
      const { facts, stream } = Result.getOrThrow(decide(before.state, head.bytes, command, now))
      return { state: stream, facts: [...before.facts, ...facts] }
    },
    { state, facts: [] }
  )

const recordAll = Effect.fn("recordAll")(function* (
  current: CurrentStream,
  commands: ReadonlyArray<Command>,
  kind?: ClaimKind
) {
  const { facts } = decideAll(current, commands)
  const claims = commands.flatMap((command) =>
    command._tag === "Propose" && kind !== undefined
      ? [{ kind, name: command.body.commitment, fingerprint: "", resource: command.authorizationId }]
      : []
  )
  return yield* record(current, { facts, claims })
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

/**
 * Gives a mandate a history as its programs would have written it, many decisions to a change: proposals, and in a later
 * change the end of those that were allowed.
 */
export const fillMandate = Effect.fn("fillMandate")(function* (filling: Filling) {
  const { body, count, first, mandate, organization } = filling
  const store = yield* MandateStore
  for (let done = 0; done < count; done += BATCH) {
    const { now, stream } = yield* store.load({ organization, stream: { mandate } })
    if (stream === undefined) return yield* Effect.die(new Error("the mandate is gone"))
    const numbers = Array.from({ length: Math.min(BATCH, count - done) }, (_, index) => first + done + index)
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
    const proposed = yield* recordAll(bringUpToDate(stream, now), proposals, "commitment")
    const closings = proposals.flatMap((command, index) => {
      if (command._tag !== "Propose") return []
      const isOpen = proposed.state.authorizations.get(command.authorizationId)?.state === "RESERVED"
      return isOpen ? [closing(command.authorizationId, numbers[index]!, formatInstant(now))] : []
    })
    if (closings.length > 0) yield* recordAll(proposed, closings)
  }
})
