import { isIdentifier } from "@svc/protocol/Identifier"
import type { Passkey } from "@svc/protocol/Passkey"
import type { ListPage } from "@svc/protocol/request/ListPage"
import { Effect } from "effect"
import type { PasskeyRecord } from "../approval/ApprovalSessionState.ts"
import { activePasskeys, afterRetirementOf } from "../approval/SubjectPasskeys.ts"
import { identifierCursor, listPageOf } from "../engine/Cursor.ts"
import { untilAppended } from "../engine/UntilAppended.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { SubjectStore } from "../ports/SubjectStore.ts"
import { type InvalidCursor, NotFound } from "../Refusals.ts"

const shown = (passkey: PasskeyRecord): Passkey => ({
  id: passkey.id as Passkey["id"],
  created_at: passkey.enrolledAt,
  ...(passkey.lastUsedAt === undefined ? {} : { last_used_at: passkey.lastUsedAt }),
  backup_eligible: passkey.backupEligible
})

/** Active passkeys of a subject, newest first (part 6, GET /v1/subjects/{subject_reference}/passkeys). */
export const listPasskeys = Effect.fn("listPasskeys")(function* (query: {
  readonly organization: string
  readonly subjectReference: string
  readonly cursor?: string
  readonly limit: number
}): Effect.fn.Return<ListPage<Passkey>, InvalidCursor | StoreUnavailable, SubjectStore> {
  const store = yield* SubjectStore
  const { organization, subjectReference } = query
  const scope = { list: "passkeys", organization, subject_reference: subjectReference }
  const after = yield* identifierCursor(scope, "psk_", query.cursor)
  const { subject } = yield* store.load(query)
  const active = activePasskeys(subject)
    .filter((passkey) => after === undefined || passkey.id < after)
    .toSorted((left, right) => (left.id < right.id ? 1 : -1))
  return listPageOf(scope, active.slice(0, query.limit + 1), query.limit, (passkey) => passkey.id, shown)
})

/**
 * Retires a passkey, which then approves nothing (part 6, DELETE /v1/subjects/{subject_reference}/passkeys/{id}).
 * Retiring it again changes nothing.
 */
export const retirePasskey = Effect.fn("retirePasskey")(function* (query: {
  readonly organization: string
  readonly subjectReference: string
  readonly passkeyId: string
}): Effect.fn.Return<void, NotFound | StoreUnavailable, SubjectStore> {
  const store = yield* SubjectStore
  if (!isIdentifier("psk_", query.passkeyId)) return yield* new NotFound()
  const attempt = Effect.gen(function* () {
    const { now, subject } = yield* store.load(query)
    const passkey = subject?.passkeys.find((entry) => entry.id === query.passkeyId)
    if (subject === undefined || passkey === undefined) return yield* new NotFound()
    if (passkey.retiredAt !== undefined) return
    yield* store.replace({
      organization: query.organization,
      subjectReference: query.subjectReference,
      expected: subject.revision,
      next: afterRetirementOf(subject, passkey, now)
    })
  })
  return yield* untilAppended(
    Effect.succeed(JSON.stringify([query.organization, "subject", query.subjectReference])),
    attempt
  )
})
