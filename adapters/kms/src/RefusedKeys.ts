import {
  type KeyManagementFault,
  KeyManagementRefused,
  type ManagedKeys
} from "@svc/domain/ports/KeyManagement"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Clock, Effect } from "effect"

/**
 * A key that the service refuses is not asked to sign again for so long, in seconds. Somebody has to change something first,
 * and then waits no longer than this for evidence.
 */
export const REFUSAL_SECONDS = 15n

interface Refusal {
  readonly until: bigint
  readonly fault: KeyManagementRefused
}

/**
 * Signs, and remembers which keys the service refused: a broken key would otherwise be asked for every evidence and every
 * look at the health. A process knows few keys, those of its deployment.
 */
export const rememberingRefusals = (sign: ManagedKeys["sign"]): ManagedKeys["sign"] => {
  const refusals = new Map<string, Refusal>()
  return Effect.fnUntraced(function* (name, digest): Effect.fn.Return<Uint8Array, KeyManagementFault> {
    const known = refusals.get(name)
    if (known !== undefined && (yield* Clock.monotonicTimeNanos) < known.until) return yield* known.fault
    refusals.delete(name)
    return yield* Effect.tapError(sign(name, digest), (fault) =>
      fault instanceof KeyManagementRefused
        ? Effect.map(Clock.monotonicTimeNanos, (now) => {
            refusals.set(name, { until: now + REFUSAL_SECONDS * NANOS_PER_SECOND, fault })
          })
        : Effect.void
    )
  })
}
