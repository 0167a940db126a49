import { randomUUID } from "node:crypto"
import type { Organization } from "@svc/domain/organization/Organization"
import { Deployment } from "@svc/domain/ports/Deployment"
import { MandateStore, type StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { Randomness } from "@svc/domain/ports/Randomness"
import type { Signer } from "@svc/domain/ports/Signer"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { listMandates, revokeMandate } from "@svc/domain/programs/Mandates"
import { listPasskeys, retirePasskey } from "@svc/domain/programs/Passkeys"
import type { DomainRefusal } from "@svc/domain/programs/RefusalProblem"
import type { Mandate } from "@svc/protocol/Mandate"
import { LIST_LIMIT_MAX, type ListPage } from "@svc/protocol/request/ListPage"
import type { Instant } from "@svc/protocol/Timestamp"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { Effect } from "effect"
import { archiveAt } from "../archive/ArchiveOption.ts"
import type { ArchivePlace } from "../archive/ArchivePlace.ts"
import { masterKeyConfig } from "../config/Config.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { type StartFault, validateAll } from "../start/StartFault.ts"
import {
  type Archiving,
  type ArchivingResult,
  alsoByStoreClock,
  archiveEnded,
  countEnded,
  endedBeforeOf,
  hasFailed,
  LEAST_DAYS_TO_DELETE,
  MAX_MANDATES,
  signerOf
} from "./ArchiveCommands.ts"
import { readOptions, requiredOption } from "./CommandOptions.ts"
import { findOrganization } from "./OrganizationCommands.ts"
import { deploymentOf } from "./RedeliveryCommands.ts"
import type { StoreCommand } from "./StoreCommand.ts"
import { faultOfRefusal } from "./SupportCommands.ts"

/** Stands in the evidence of every mandate that is revoked for it. */
const REASON = "erasure of the end user's data"

/** Whose data is to go, and before which instant a mandate must have ended for its rows to go. */
export interface Erasing {
  readonly organization: Organization
  readonly subjectReference: string
  readonly endedBefore: Instant
}

/**
 * Why a mandate is left for a later run. `live`: it was made, or could not be revoked, meanwhile. `open`: an authorization can
 * still be reported. `ended_recently`: its last event is not old enough.
 */
export interface Left {
  readonly mandate: string
  readonly state: string
  readonly because: "live" | "open" | "ended_recently"
}

const at = ({ organization, subjectReference }: Erasing) => ({
  organization: organization.id,
  subjectReference
})

const archivingOf = (erasing: Erasing): Archiving => ({
  ...at(erasing),
  endedBefore: erasing.endedBefore,
  isDeleting: true,
  limit: MAX_MANDATES
})

/** Every entry of a list that has pages. */
const allOf = Effect.fnUntraced(function* <A, R>(
  page: (cursor: { readonly cursor?: string }) => Effect.Effect<ListPage<A>, DomainRefusal, R>
): Effect.fn.Return<ReadonlyArray<A>, StartFault | StoreUnavailable, R> {
  const found: Array<A> = []
  let next: ListPage<A> | undefined
  do {
    const cursor = next?.next_cursor
    next = yield* Effect.mapError(page(typeof cursor === "string" ? { cursor } : {}), faultOfRefusal)
    found.push(...next.data)
  } while (next.has_more)
  return found
})

const mandatesOf = (erasing: Erasing) =>
  allOf((cursor) => listMandates({ ...at(erasing), ...cursor, limit: LIST_LIMIT_MAX }))

const activePasskeysOf = (erasing: Erasing) =>
  allOf((cursor) => listPasskeys({ ...at(erasing), ...cursor, limit: LIST_LIMIT_MAX }))

const passkeysOnRecord = (erasing: Erasing) =>
  Effect.map(
    Effect.flatMap(SubjectStore, ({ load }) => load(at(erasing))),
    ({ subject }) => subject?.passkeys.length ?? 0
  )

const isLive = ({ ended_at }: Mandate): boolean => ended_at === undefined

/** The subject's mandates: those that are live, those whose rows may go, and why each of the others stays for now. */
const mandatesNow = Effect.fnUntraced(function* (erasing: Erasing) {
  const mandates = yield* mandatesOf(erasing)
  const archiving = archivingOf(erasing)
  const { now } = yield* (yield* MandateStore).load({ organization: archiving.organization })
  const { mandates: removable } = yield* countEnded(archiving)
  const { mandates: closed } = yield* countEnded({ ...archiving, endedBefore: now + 1n })
  const idsOf = (list: typeof closed) => new Set(list.map(({ mandate }) => mandate))
  const [removableIds, closedIds] = [idsOf(removable), idsOf(closed)]
  const staying = mandates.filter((mandate) => !isLive(mandate) && !removableIds.has(mandate.id))
  return {
    live: mandates.filter(isLive),
    removable,
    left: staying.map(
      (mandate): Left => ({
        mandate: mandate.id,
        state: mandate.state,
        because: closedIds.has(mandate.id) ? "ended_recently" : "open"
      })
    )
  }
})

/** A mandate that a run would revoke, as the run would leave it: with its reservations, which a revocation does not close. */
const leftRevoked = ({ id, usage }: Mandate): Left => ({
  mandate: id,
  state: "REVOKED",
  because: usage.reserved_executions > 0 ? "open" : "ended_recently"
})

/** What a run would do. */
const foreseen = Effect.fnUntraced(function* (erasing: Erasing) {
  const { left, live, removable } = yield* mandatesNow(erasing)
  return {
    would_revoke: live.map(({ id }) => id),
    would_retire_passkeys: (yield* activePasskeysOf(erasing)).length,
    would_archive_and_remove: removable,
    left: [...live.map(leftRevoked), ...left],
    passkeys_on_record: yield* passkeysOnRecord(erasing)
  }
})

/** Revokes what is live; of a mandate that ends by itself meanwhile nothing is left to do. */
const revokeLive = Effect.fnUntraced(function* (erasing: Erasing) {
  const { organization } = erasing
  const revoked: Array<string> = []
  for (const { id } of (yield* mandatesOf(erasing)).filter(isLive)) {
    yield* revokeMandate({
      organization,
      // One that nobody else can have taken. A revocation needs no other one to be repeated.
      idempotencyKey: `svc-erase-${randomUUID()}`,
      body: { reason: REASON },
      mandateId: id
    }).pipe(
      Effect.andThen(Effect.sync(() => revoked.push(id))),
      Effect.catchTag("StateConflict", () => Effect.void),
      Effect.mapError(faultOfRefusal)
    )
  }
  return revoked
})

const retireAll = Effect.fnUntraced(function* (erasing: Erasing) {
  const active = yield* activePasskeysOf(erasing)
  for (const { id } of active)
    yield* Effect.mapError(retirePasskey({ ...at(erasing), passkeyId: id }), faultOfRefusal)
  return active.length
})

/** What a run did, and what it left. */
export interface Erased extends ArchivingResult {
  readonly revoked: ReadonlyArray<string>
  readonly passkeys_retired: number
  readonly left: ReadonlyArray<Left>
  readonly passkeys_on_record: number
}

/**
 * Ends what is live of an end user, retires the passkeys, and archives and removes the mandates that have ended. What cannot go
 * yet is named; a later run goes on.
 */
export const eraseSubject = Effect.fn("eraseSubject")(function* (
  place: ArchivePlace,
  erasing: Erasing
): Effect.fn.Return<Erased, StartFault | StoreUnavailable, PostgresPorts | Signer | Randomness> {
  const revoked = yield* Effect.provideService(
    revokeLive(erasing),
    Deployment,
    deploymentOf(erasing.organization)
  )
  const passkeys_retired = yield* retireAll(erasing)
  const archived = yield* archiveEnded(place, archivingOf(erasing))
  const { left, live } = yield* mandatesNow(erasing)
  const stillLive = live.map(({ id, state }): Left => ({ mandate: id, state, because: "live" }))
  return {
    revoked,
    passkeys_retired,
    ...archived,
    left: [...stillLive, ...left],
    passkeys_on_record: yield* passkeysOnRecord(erasing)
  }
})

/** A mistyped reference looks like one that is gone, so an answer without anything in it says so. */
const NOTHING_ON_RECORD =
  "nothing is on record under this reference in this organization: see that both are spelled as the mandates have them"

const isOnRecord = Effect.fnUntraced(function* (erasing: Erasing) {
  const mandates = yield* Effect.mapError(listMandates({ ...at(erasing), limit: 1 }), faultOfRefusal)
  return mandates.data.length > 0 || (yield* passkeysOnRecord(erasing)) > 0
})

const erase: StoreCommand = {
  name: "subject erase",
  help: helpOf(
    `svc subject erase --organization <id> --subject <text>: what is on record of an end user, and with --yes its erasure, as far as
it goes. Without --yes it changes nothing, and prints what it would do.

With --yes it revokes the mandates that are live, in the name of the organization, retires the passkeys, and then archives and
removes the mandates that have ended as svc mandate archive does: their signed evidence is written to the place and verified,
and their rows go, for good. "left" names the mandates that are to go with a later run: live ones, which were made meanwhile;
those with an authorization that can still be reported (open); those that ended less than a day ago (ended_recently). "kept"
names those with a webhook that waits. Run it again until both are empty. It may be cut off anywhere. Without --yes "left" has
what it would leave. Where nothing is on record, "note" says so.

What stays: the passkeys' record, without which whoever comes next under the reference could enrol ("passkeys_on_record"); the
archive, whose evidence has all that its mandate had; logs and backups; this command in the operator log.

  --organization <id>   whose end user; required
  --subject <text>      the subject_reference; required
  --to <place>          where the evidence goes: a folder, or a bucket of an S3-compatible store; required with --yes
  --older-than <days>   removes those whose last event is older than so many days; default ${LEAST_DAYS_TO_DELETE}, the least
  --yes                 does it; the master key is needed for that alone

Exits 1 if something in the archive does not verify; no row of such a mandate is removed.

Example: svc subject erase --organization org_... --subject user_8f2 --to erasure --yes`,
    SETTINGS_OF.archive
  ),
  isFailure: hasFailed,
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions(
      { organization: "one", subject: "one", to: "one", "older-than": "one", yes: "flag" },
      words
    )
    const days = options["older-than"] ?? String(LEAST_DAYS_TO_DELETE)
    const given = yield* validateAll({
      organization: requiredOption(options.organization, "organization"),
      subjectReference: requiredOption(options.subject, "subject"),
      endedBefore: endedBeforeOf(undefined, days, true),
      doing: options.yes
        ? validateAll({
            place: Effect.flatMap(requiredOption(options.to, "to"), archiveAt),
            keys: masterKeyConfig
          })
        : Effect.undefined
    })
    const { doing } = given
    return Effect.map(findOrganization(given.organization), (organization) => ({
      organization: organization.id,
      act: Effect.gen(function* () {
        const aged = yield* alsoByStoreClock({ ...given, organization: organization.id }, BigInt(days))
        const erasing: Erasing = { ...given, organization, endedBefore: aged.endedBefore }
        const wasOnRecord = yield* isOnRecord(erasing)
        const answer =
          doing === undefined
            ? yield* foreseen(erasing)
            : yield* Effect.provide(eraseSubject(doing.place, erasing), signerOf(doing.keys))
        return wasOnRecord ? answer : { ...answer, note: NOTHING_ON_RECORD }
      }).pipe(Effect.provide(RandomnessNodeCrypto.layer))
    }))
  })
}

export const subjectCommands: ReadonlyArray<StoreCommand> = [erase]
