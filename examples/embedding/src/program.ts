import { Data, Effect } from "effect"
import { Organizations, revokeMandate } from "svc/effect"

export class NoSuchShop extends Data.TaggedError("NoSuchShop")<{ readonly shop: string }> {}

/** Takes a mandate back; one that has ended is left as it is. */
export const takeBack = Effect.fnUntraced(function* (shop: string, mandateId: string) {
  const organization = yield* (yield* Organizations).find(shop)
  if (organization === undefined) return yield* new NoSuchShop({ shop })
  return yield* revokeMandate({
    organization,
    mandateId,
    idempotencyKey: `take-back-${mandateId}`,
    body: { reason: "the user closed the account" }
  }).pipe(
    Effect.map(({ resource }) => resource.state),
    Effect.catchTag("StateConflict", ({ currentState }) => Effect.succeed(currentState))
  )
})
