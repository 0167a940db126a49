import { Context, Data, type Effect } from "effect"
import type { AttemptResult } from "../webhook/WebhookDelivery.ts"
import type { TargetFormFault } from "../webhook/WebhookTarget.ts"

/**
 * Which rule of the target guard (part 8) a target breaks: the form of its URL, a name that has no address, or an
 * address that is not public. Which address it was is the operator's business alone.
 */
export type TargetFault = "form" | "name_unresolved" | "address_not_public"

export class TargetRefused extends Data.TaggedError("TargetRefused")<{
  readonly reason: TargetFault
  /** What is wrong with the form, where that is the reason. */
  readonly form?: TargetFormFault
}> {}

/** Carries webhooks to their receivers, under the target guard of part 8. */
export class WebhookTransport extends Context.Service<
  WebhookTransport,
  {
    /** Whether a target may be registered: its form, and every address that its name has now. */
    readonly check: (url: string) => Effect.Effect<void, TargetRefused>
    /**
     * One attempt: a POST of these bytes. It does not fail: whatever comes of it is its result, a redirect too, which
     * is not followed. The status decides as soon as headers are there. Interruption cuts the connection.
     */
    readonly deliver: (attempt: {
      readonly url: string
      readonly headers: Readonly<Record<string, string>>
      readonly body: Uint8Array
    }) => Effect.Effect<AttemptResult>
  }
>()("@svc/domain/ports/WebhookTransport") {}
