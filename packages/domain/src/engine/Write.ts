import { isIdentifier } from "@svc/protocol/Identifier"
import type { JsonValue } from "@svc/protocol/Json"
import type { MemberFault } from "@svc/protocol/Problem"
import { requestFingerprint } from "@svc/protocol/RequestFingerprint"
import type { Instant } from "@svc/protocol/Timestamp"
import { Effect, Result } from "effect"
import { type Command, decide, type Refusal } from "../mandate/Decide.ts"
import type { Organization } from "../organization/Organization.ts"
import {
  type ClaimHolder,
  MandateStore,
  type StoreUnavailable,
  type StreamReference,
  type UniqueClaim
} from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import { CommitmentReused, IdempotencyKeyReused, NotFound, ValidationFailed } from "../Refusals.ts"
import {
  bringUpToDate,
  type CurrentStream,
  readStream,
  record,
  settle,
  streamTurn,
  untilRecorded
} from "./StreamProgram.ts"

/** A lifecycle write as a caller sends it. */
export interface WriteRequest {
  readonly organization: Organization
  /** 1 to 255 visible ASCII characters (part 3); empty where the write may do without one and has none. */
  readonly idempotencyKey: string
  /** The JSON body, not yet checked against its schema. */
  readonly body: JsonValue
}

/** The resource in its current state, and whether an earlier request had made the write. */
export interface Written<A> {
  readonly resource: A
  readonly replayed: boolean
}

/** What a write is, for its idempotency key: method and route template, and the values in its path. */
export interface Operation {
  readonly operation: string
  readonly path: Readonly<Record<string, string>>
}

export interface KeyedOperation {
  readonly claim: (resource: string) => UniqueClaim
  readonly name: string
  /** Fails when the key stands for other input. */
  readonly check: (held: ClaimHolder) => Effect.Effect<void, IdempotencyKeyReused>
}

/**
 * The idempotency key of a request, bound to the request's fingerprint (part 3). A key belongs to the organization, not to
 * the operation: the fingerprint tells operations apart, so a key that served another one is refused.
 */
export const keyedOperation = (request: WriteRequest, operation: Operation): KeyedOperation => {
  const fingerprint = requestFingerprint({ ...operation, body: request.body })
  const name = request.idempotencyKey
  return {
    name,
    claim: (resource) => ({ kind: "idempotency_key", name, fingerprint, resource }),
    check: (held) =>
      held.fingerprint === fingerprint ? Effect.void : Effect.fail(new IdempotencyKeyReused())
  }
}

/** The idempotency key of a write that may do without one: an empty text is none. */
export const optionallyKeyed = (request: WriteRequest, operation: Operation): KeyedOperation | undefined =>
  request.idempotencyKey === "" ? undefined : keyedOperation(request, operation)

/** A body that fits its schema, or every fault of it. */
export const validBody = <A>(
  decoded: Result.Result<A, ReadonlyArray<MemberFault>>
): Effect.Effect<A, ValidationFailed> =>
  Result.isSuccess(decoded)
    ? Effect.succeed(decoded.success)
    : Effect.fail(new ValidationFailed({ errors: decoded.failure }))

/** The stream that a path names; a malformed identifier names none. */
export const namedStream = (reference: StreamReference): StreamReference | undefined => {
  if ("mandate" in reference) return isIdentifier("mnd_", reference.mandate) ? reference : undefined
  if ("authorization" in reference) {
    return isIdentifier("aut_", reference.authorization) ? reference : undefined
  }
  return reference
}

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

export interface StreamWritten {
  readonly current: CurrentStream
  readonly resource: string
  readonly replayed: boolean
}

/** A replay answers with the resource as it is now, and evaluates nothing again (part 3). */
const replay = (
  organization: string,
  resource: string
): Effect.Effect<StreamWritten, NotFound | StoreUnavailable, MandateStore | Randomness> =>
  Effect.map(
    readStream({
      organization,
      stream: resource.startsWith("aut_") ? { authorization: resource } : { mandate: resource }
    }),
    (current) => ({ current, resource, replayed: true })
  )

/**
 * Runs one write: idempotency look-up, schema, resource, then time and state, and one atomic record of what was decided
 * together with the key (parts 2 and 3).
 */
export const writeStream = <Body>(
  request: WriteRequest,
  write: StreamWrite<Body>
): Effect.Effect<
  StreamWritten,
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
      idempotencyKey: key.name,
      ...(stream === undefined ? {} : { stream })
    })
    if (loaded.held !== undefined) {
      yield* key.check(loaded.held)
      return yield* replay(organization, loaded.held.resource)
    }
    const body = yield* validBody(write.decode(request.body))
    if (loaded.stream === undefined) return yield* new NotFound()
    const current = bringUpToDate(loaded.stream, loaded.now)
    const command = yield* write.command(body, current.now)
    const verdict = decide(current.state, current.head.bytes, command, current.now)
    if (Result.isFailure(verdict)) {
      yield* settle(current)
      return yield* Effect.fail(verdict.failure)
    }
    const { facts, boundaries, refusal } = verdict.success
    if (refusal !== undefined) {
      yield* record(current, { facts, boundaries })
      return yield* Effect.fail(refusal)
    }
    const resource = write.resource(command)
    const recorded = yield* record(current, {
      facts,
      boundaries,
      claims: [key.claim(resource), ...(write.claims?.(command) ?? [])]
    })
    return { current: recorded, resource, replayed: false }
  }).pipe(
    Effect.catchIf(
      (error) => error._tag === "ClaimTaken" && error.kind === "commitment",
      () => Effect.fail(new CommitmentReused())
    )
  )
  return untilRecorded(streamTurn({ organization, ...(stream === undefined ? {} : { stream }) }), attempt)
}
