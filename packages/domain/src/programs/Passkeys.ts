import { isIdentifier } from "@svc/protocol/Identifier"
import type { Passkey } from "@svc/protocol/Passkey"
import type { ListPage } from "@svc/protocol/request/ListPage"
import { Text } from "@svc/protocol/Text"
import { Effect, Schema } from "effect"
import type { PasskeyRecord } from "../approval/ApprovalSessionState.ts"
import { activePasskeys, afterRetirementOf } from "../approval/SubjectPasskeys.ts"
import { identifierCursor, listPageOf } from "../engine/Cursor.ts"
import { listReader, pageLimit, pathReader, type QueryRefusal } from "../engine/ProgramQuery.ts"
import { untilAppended } from "../engine/UntilAppended.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { SubjectStore } from "../ports/SubjectStore.ts"
import { type InvalidCursor, NotFound, type OrganizationUnknown } from "../Refusals.ts"

const shown = (passkey: PasskeyRecord): Passkey => ({
  id: passkey.id as Passkey["id"],
  created_at: passkey.enrolledAt,
  ...(passkey.lastUsedAt === undefined ? {} : { last_used_at: passkey.lastUsedAt }),
  backup_eligible: passkey.backupEligible
})

/** What no mandate can name as its subject has no passkeys. */
const checkSubject = (subjectReference: string): Effect.Effect<void, NotFound> =>
  isReference(subjectReference) ? Effect.void : Effect.fail(new NotFound())

const isReference = Schema.is(Text)

const readListQuery = listReader({ limit: pageLimit }, "subjectReference")
const readPasskeyPath = pathReader("subjectReference", "passkeyId")

/** Active passkeys of a subject, newest first (part 6, GET /v1/subjects/{subject_reference}/passkeys). */
export const listPasskeys = Effect.fn("listPasskeys")(function* (query: {
  readonly organization: string
  readonly subjectReference: string
  readonly cursor?: string
  readonly limit: number
}): Effect.fn.Return<
  ListPage<Passkey>,
  QueryRefusal | InvalidCursor | NotFound | StoreUnavailable,
  SubjectStore
> {
  const { cursor, limit, organization, subjectReference } = yield* readListQuery(query)
  yield* checkSubject(subjectReference)
  const store = yield* SubjectStore
  const scope = { list: "passkeys", organization, subject_reference: subjectReference }
  const after = yield* identifierCursor(scope, "psk_", cursor)
  const { subject } = yield* store.load({ organization, subjectReference })
  const active = activePasskeys(subject)
    .filter((passkey) => after === undefined || passkey.id < after)
    .toSorted((left, right) => (left.id < right.id ? 1 : -1))
  return listPageOf(scope, active.slice(0, limit + 1), limit, (passkey) => passkey.id, shown)
})

/**
 * Retires a passkey, which then approves nothing (part 6, DELETE /v1/subjects/{subject_reference}/passkeys/{id}).
 * Retiring it again changes nothing.
 */
export const retirePasskey = Effect.fn("retirePasskey")(function* (query: {
  readonly organization: string
  readonly subjectReference: string
  readonly passkeyId: string
}): Effect.fn.Return<void, OrganizationUnknown | NotFound | StoreUnavailable, SubjectStore> {
  const { organization, passkeyId, subjectReference } = yield* readPasskeyPath(query)
  yield* checkSubject(subjectReference)
  const store = yield* SubjectStore
  if (!isIdentifier("psk_", passkeyId)) return yield* new NotFound()
  const attempt = Effect.gen(function* () {
    const { now, subject } = yield* store.load({ organization, subjectReference })
    const passkey = subject?.passkeys.find((entry) => entry.id === passkeyId)
    if (subject === undefined || passkey === undefined) return yield* new NotFound()
    if (passkey.retiredAt !== undefined) return
    yield* store.replace({
      organization,
      subjectReference,
      expected: subject.revision,
      next: afterRetirementOf(subject, passkey, now)
    })
  })
  return yield* untilAppended(
    Effect.succeed(JSON.stringify([organization, "subject", subjectReference])),
    attempt
  )
})
