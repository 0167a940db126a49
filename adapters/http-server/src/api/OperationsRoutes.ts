import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { OperationsApi } from "@svc/protocol/api/OperationsApi"
import { Effect } from "effect"
import { Refused } from "../http/ProblemResponse.ts"
import { answer } from "./Answer.ts"
import { groupRoutes } from "./GroupRoutes.ts"

/** `Retry-After` of a service that is not ready, in seconds. */
const RETRY_AFTER_SECONDS = 1

const ok = answer({ status: "ok" as const })

const notReady = (detail: string): Refused =>
  new Refused({ code: "store_unavailable", detail, retryAfterSeconds: RETRY_AFTER_SECONDS })

/** Liveness and readiness (part 9). */
export const operationsRoutes = groupRoutes(OperationsApi, {
  health: () => Effect.succeed(ok),
  ready: () =>
    Effect.gen(function* () {
      const health = yield* StoreHealth
      const faults = yield* Effect.catch(health.faults, (unavailable) =>
        Effect.as(Effect.logWarning("the store cannot be reached:", unavailable), [
          "The store cannot be reached."
        ])
      )
      if (faults.length > 0) return yield* notReady(faults.join(" "))
      return ok
    })
})
