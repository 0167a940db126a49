import type { JsonValue } from "@svc/protocol/json/Json"
import type { MemberFault } from "@svc/protocol/Problem"
import type { Instant } from "@svc/protocol/Timestamp"
import { Effect, Result } from "effect"
import { type Command, decide, type Refusal } from "../mandate/Decide.ts"
import {
  MandateStore,
  type StoreUnavailable,
  type StreamReference,
  type UniqueClaim
} from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import { CommitmentReused, type IdempotencyKeyReused, NotFound } from "../Refusals.ts"
import { type AppendFailure, appendDue, appendFacts } from "./AppendFacts.ts"
import { asOf, type CurrentStream } from "./CurrentStream.ts"
import { holderOf, keyedOperation, type Operation } from "./IdempotencyKey.ts"
import { namedStream, tryReadStream } from "./ReadStream.ts"
import { StreamTurns } from "./StreamTurns.ts"
import { mandateTurnKey, streamTurnKey, type TurnKey, untilAppended } from "./UntilAppended.ts"
import { validBody, type WriteRequest } from "./WriteRequest.ts"

/** One kind of write to a mandate that exists. */
export interface StreamWrite<Body> {
  readonly operation: Operation
  readonly stream: StreamReference
  readonly decode: (body: JsonValue) => Result.Result<Body, ReadonlyArray<MemberFault>>
  readonly command: (body: Body, now: Instant) => Effect.Effect<Command, never, Randomness>
  /** Identifier of the resource that the key stands for from then on. */
  readonly resource: (command: Command) => string
  readonly claims?: (command: Command) => ReadonlyArray<UniqueClaim>
}

/** The stream after a write, the resource that the write is about, and whether an earlier request had made it. */
export interface StreamWriteResult {
  readonly current: CurrentStream
  readonly resource: string
  readonly replayed: boolean
}

/** The turn of a write to a mandate, which is also that of a write to an authorization whose mandate is remembered. */
const turnKeyOf = (
  organization: string,
  stream: StreamReference | undefined
): Effect.Effect<TurnKey<MandateStore>> =>
  Effect.map(StreamTurns, ({ mandateOf }) => {
    if (stream === undefined) return streamTurnKey({ organization })
    if ("mandate" in stream) return mandateTurnKey(organization, stream.mandate)
    const mandate = "authorization" in stream ? mandateOf(organization, stream.authorization) : undefined
    return mandate === undefined
      ? streamTurnKey({ organization, stream })
      : mandateTurnKey(organization, mandate)
  })

/** A replay answers with the resource as it is now, and evaluates nothing again (part 3). */
const replay = (
  organization: string,
  resource: string
): Effect.Effect<StreamWriteResult, NotFound | AppendFailure, MandateStore | Randomness> =>
  Effect.map(
    tryReadStream({
      organization,
      stream: resource.startsWith("aut_") ? { authorization: resource } : { mandate: resource }
    }),
    (current) => ({ current, resource, replayed: true })
  )

/**
 * Runs one write: idempotency look-up, schema, resource, then time and state, and one atomic append of what was decided
 * together with the key (parts 2 and 3).
 */
export const writeStream = <Body>(
  request: WriteRequest,
  write: StreamWrite<Body>
): Effect.Effect<
  StreamWriteResult,
  IdempotencyKeyReused | CommitmentReused | Refusal | StoreUnavailable,
  MandateStore | Randomness
> => {
  const organization = request.organization.id
  const key = keyedOperation(request, write.operation)
  const stream = namedStream(write.stream)
  const attempt = Effect.gen(function* () {
    const store = yield* MandateStore
    const loaded = yield* store.load({
      organization,
      claims: [key],
      ...(stream === undefined ? {} : { stream })
    })
    const holder = holderOf(loaded.held, key)
    if (holder !== undefined) {
      yield* key.check(holder)
      return yield* replay(organization, holder.resource)
    }
    const body = yield* validBody(write.decode(request.body))
    if (loaded.stream === undefined) return yield* new NotFound()
    const current = asOf(loaded.stream, loaded.now)
    const command = yield* write.command(body, current.now)
    const verdict = decide(current.state, current.head.bytes, command, current.now)
    if (Result.isFailure(verdict)) {
      yield* appendDue(current)
      return yield* Effect.fail(verdict.failure)
    }
    const { facts, boundaries, refusal } = verdict.success
    if (refusal !== undefined) {
      yield* appendFacts(current, { facts, boundaries })
      return yield* Effect.fail(refusal)
    }
    const resource = write.resource(command)
    const appended = yield* appendFacts(current, {
      facts,
      boundaries,
      claims: [key.claim(resource), ...(write.claims?.(command) ?? [])]
    })
    if (resource.startsWith("aut_")) {
      const { rememberMandate } = yield* StreamTurns
      rememberMandate(organization, resource, appended.state.mandate.terms.mandate_id)
    }
    return { current: appended, resource, replayed: false }
  }).pipe(
    Effect.catchIf(
      (error) => error._tag === "ClaimTaken" && error.kind === "commitment",
      () => Effect.fail(new CommitmentReused())
    )
  )
  return Effect.flatMap(turnKeyOf(organization, stream), (turnKey) => untilAppended(turnKey, attempt))
}
