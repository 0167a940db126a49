import { requestFingerprint } from "@svc/protocol/request/RequestFingerprint"
import { Exit } from "effect"
import type { ClaimHolder, ClaimName, HeldClaim, UniqueClaim } from "../ports/MandateStore.ts"
import { IdempotencyKeyReused } from "../Refusals.ts"
import type { AdmittedWrite } from "./WriteRequest.ts"

/** What a write is, for its idempotency key: method and route template, and the values in its path. */
export interface Operation {
  readonly operation: string
  readonly path: Readonly<Record<string, string>>
}

/** The idempotency key of one request. */
export interface KeyedOperation {
  /** The key, as a store looks it up: plain data, with nothing beside it that a store could not copy or send on. */
  readonly claimName: ClaimName
  /** The claim that the key stands for a resource from now on. */
  readonly claim: (resource: string) => UniqueClaim
  /** Fails when the key stands for other input. */
  readonly check: (held: ClaimHolder) => Exit.Exit<void, IdempotencyKeyReused>
}

/**
 * The idempotency key of a request, bound to the request's fingerprint (part 3). A key belongs to the organization, not to
 * the operation: the fingerprint tells operations apart, so a key that served another one is refused.
 */
export const keyedOperation = (
  request: Pick<AdmittedWrite, "idempotencyKey" | "body">,
  operation: Operation
): KeyedOperation => {
  const fingerprint = requestFingerprint({ ...operation, body: request.body })
  const claimName: ClaimName = { kind: "idempotency_key", name: request.idempotencyKey }
  return {
    claimName,
    claim: (resource) => ({ ...claimName, fingerprint, resource }),
    check: (held) => (held.fingerprint === fingerprint ? Exit.void : Exit.fail(new IdempotencyKeyReused()))
  }
}

/** Who holds a claim, if it is among those that are held. */
export const holderOf = (
  held: ReadonlyArray<HeldClaim>,
  { kind, name }: ClaimName
): ClaimHolder | undefined => held.find((claim) => claim.kind === kind && claim.name === name)

/** The idempotency key of a write that may do without one. */
export const optionallyKeyed = (
  request: Pick<AdmittedWrite, "idempotencyKey" | "body">,
  operation: Operation
): KeyedOperation | undefined =>
  request.idempotencyKey === "" ? undefined : keyedOperation(request, operation)
