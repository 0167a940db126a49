import { Organizations } from "@svc/domain/ports/Organizations"
import { OperationsApi } from "@svc/protocol/api/OperationsApi"
import { Effect } from "effect"
import { answer } from "./Answer.ts"
import { groupRoutes } from "./GroupRoutes.ts"

/** An identifier that no organization has: looking for it asks the store and finds nothing. */
const NOBODY = "org_00000000000000000000000000"

const ok = answer({ status: "ok" as const })

/** Whether the process is up, and whether it can serve (part 9). */
export const operationsRoutes = groupRoutes(OperationsApi, {
  health: () => Effect.succeed(ok),
  ready: () =>
    Effect.gen(function* () {
      const organizations = yield* Organizations
      yield* organizations.find(NOBODY)
      return ok
    })
})
