import type { JsonValue } from "@svc/protocol/json/Json"
import type { MemberFault } from "@svc/protocol/Problem"
import type { Instant } from "@svc/protocol/Timestamp"
import { Effect, Exit, Result } from "effect"
import { type Command, decide, type Refusal } from "../mandate/Decide.ts"
import type { MandateStore, StoreUnavailable, StreamReference } from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import { type CommitmentReused, type IdempotencyKeyReused, ValidationFailed } from "../Refusals.ts"
import { keyedOperation, type Operation } from "./IdempotencyKey.ts"
import { namedStream, readStream } from "./ReadStream.ts"
import { runCommand } from "./RunCommand.ts"
import type { SettledStream, StreamCommand } from "./StreamCommand.ts"
import { StreamTurns } from "./StreamTurns.ts"
import type { AdmittedWrite } from "./WriteRequest.ts"

/** One kind of write to a mandate that exists. */
export interface StreamWrite<Body> {
  readonly operation: Operation
  readonly stream: StreamReference
  readonly decode: (body: JsonValue) => Result.Result<Body, ReadonlyArray<MemberFault>>
  readonly command: (body: Body, now: Instant, randomness: Randomness["Service"]) => Command
  /** Identifier of the resource that the key stands for from then on. */
  readonly resource: (command: Command) => string
  /** The commitment that the write claims for its resource. */
  readonly commitment?: (body: Body) => string
}

/** The stream after a write, the resource that the write is about, and whether an earlier request had made it. */
export interface StreamWriteResult {
  readonly stream: SettledStream
  readonly resource: string
  readonly replayed: boolean
}

const commandOf = <Body>(request: AdmittedWrite, write: StreamWrite<Body>): StreamCommand => {
  const decoded = write.decode(request.body)
  const common = {
    organization: request.organization.id,
    stream: namedStream(write.stream),
    key: keyedOperation(request, write.operation)
  }
  if (Result.isFailure(decoded)) {
    const invalid = new ValidationFailed({ errors: decoded.failure })
    return { ...common, invalid, decide: () => Exit.fail(invalid) }
  }
  const body = decoded.success
  const commitment = write.commitment?.(body)
  return {
    ...common,
    ...(commitment === undefined ? {} : { commitment }),
    decide: (state, journalBytes, now, randomness) => {
      const command = write.command(body, now, randomness)
      const decided = decide(state, journalBytes, command, now)
      return Result.isFailure(decided)
        ? Exit.fail(decided.failure)
        : Exit.succeed({ ...decided.success, resource: write.resource(command) })
    }
  }
}

/**
 * Runs one write: idempotency look-up, schema, resource, then time and state, and one atomic append of what was decided
 * together with the key (parts 2 and 3). A replay answers with the resource as it is now, and evaluates nothing again.
 */
export const writeStream = Effect.fnUntraced(function* <Body>(
  request: AdmittedWrite,
  write: StreamWrite<Body>
): Effect.fn.Return<
  StreamWriteResult,
  IdempotencyKeyReused | CommitmentReused | Refusal | StoreUnavailable,
  MandateStore | Randomness
> {
  const organization = request.organization.id
  const answer = yield* runCommand(commandOf(request, write))
  const { resource } = answer
  const stream = resource.startsWith("aut_") ? { authorization: resource } : { mandate: resource }
  if (answer._tag === "Recorded") {
    const { rememberPlace } = yield* StreamTurns
    rememberPlace(organization, stream, {
      organization,
      mandate: answer.stream.state.mandate.terms.mandate_id
    })
    return { stream: answer.stream, resource, replayed: false }
  }
  return { stream: yield* readStream({ organization, stream }), resource, replayed: true }
})
