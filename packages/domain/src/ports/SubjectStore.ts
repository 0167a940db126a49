import type { Instant } from "@svc/protocol/Timestamp"
import { Context, type Effect } from "effect"
import type { SubjectCredentials } from "../approval/ApprovalSessionState.ts"
import type { Stale, StoreUnavailable } from "./MandateStore.ts"

/** The passkeys of subjects, outside an approval (part 6). */
export class SubjectStore extends Context.Service<
  SubjectStore,
  {
    readonly load: (query: {
      readonly organization: string
      readonly subjectReference: string
    }) => Effect.Effect<
      { readonly now: Instant; readonly subject: SubjectCredentials | undefined },
      StoreUnavailable
    >
    /** Replaces the subject's passkeys if its revision is still `expected`. */
    readonly replace: (change: {
      readonly organization: string
      readonly subjectReference: string
      readonly expected: number
      readonly next: SubjectCredentials
    }) => Effect.Effect<void, Stale | StoreUnavailable>
  }
>()("@svc/domain/ports/SubjectStore") {}
