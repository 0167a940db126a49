import type { JsonValue } from "@svc/protocol/json/Json"
import type { MemberFault } from "@svc/protocol/Problem"
import { Effect, Result } from "effect"
import type { Organization } from "../organization/Organization.ts"
import { ValidationFailed } from "../Refusals.ts"

/** A write as a caller sends it. */
export interface WriteRequest {
  readonly organization: Organization
  /** 1 to 255 visible ASCII characters (part 3); empty when there is none, where a write may do without. */
  readonly idempotencyKey: string
  /** The JSON body, not yet checked against its schema. */
  readonly body: JsonValue
}

/** The resource in its current state, and whether an earlier request had made the write. */
export interface WriteResult<A> {
  readonly resource: A
  readonly replayed: boolean
}

/** A body that fits its schema, or every fault of it. */
export const validBody = <A>(
  decoded: Result.Result<A, ReadonlyArray<MemberFault>>
): Effect.Effect<A, ValidationFailed> =>
  Result.isSuccess(decoded)
    ? Effect.succeed(decoded.success)
    : Effect.fail(new ValidationFailed({ errors: decoded.failure }))
