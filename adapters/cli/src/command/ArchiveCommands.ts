import { type EndedMandate, EndedMandates } from "@svc/domain/ports/EndedMandates"
import { MandateStore, type StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { Randomness } from "@svc/domain/ports/Randomness"
import type { Signer } from "@svc/domain/ports/Signer"
import { formatNanos, type Instant, NANOS_PER_SECOND, parseTimestamp } from "@svc/protocol/Timestamp"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { Clock, Effect, Layer, Result } from "effect"
import { archiveMandate } from "../archive/ArchiveMandate.ts"
import { archiveAt } from "../archive/ArchiveOption.ts"
import type { ArchivePlace } from "../archive/ArchivePlace.ts"
import { masterKeyConfig } from "../config/Config.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { type StartFault, usageFault, validateAll } from "../start/StartFault.ts"
import { storedSigner } from "../start/StoreLayer.ts"
import { limitOption, readOptions, requiredOption } from "./CommandOptions.ts"
import { findOrganization } from "./OrganizationCommands.ts"
import type { Operation, StoreCommand } from "./StoreCommand.ts"

/** Mandates that one run archives by default. */
const DEFAULT_MANDATES = 1000
/** Mandates that one run archives at most. */
export const MAX_MANDATES = 9999

const SECONDS_PER_DAY = 86_400n

/** Mandates whose rows go must have ended so many days ago: no approval page, retry or reader of the feed is then at them. */
export const LEAST_DAYS_TO_DELETE = 1n

export interface Archiving {
  readonly organization: string
  readonly endedBefore: Instant
  readonly subjectReference?: string
  /** Whether the rows of a mandate go once its archive has been verified. */
  readonly isDeleting: boolean
  readonly limit: number
}

interface Unsound {
  readonly mandate: string
  readonly reason: string
}

/** What became of the mandates of a run. */
export interface ArchivingResult {
  readonly ended_before: string
  /** Written and verified by this run. */
  archived: number
  /** Written by an earlier run, and verified again. */
  archived_before: number
  /** Whose rows are gone. */
  removed: number
  /** Whose rows stay although they were to go: a webhook still waits, or something was recorded meanwhile. */
  readonly kept: Array<Unsound>
  /** Whose evidence in the archive does not verify. */
  readonly failed: Array<Unsound>
  /** Whether there may be more: the limit was reached. */
  has_more: boolean
}

type Services = EndedMandates | MandateStore | Signer | Randomness

/** Every ended mandate in turn, until as many as the limit count, so that a repeated run gets beyond what there is to do no more. */
const eachEnded = Effect.fnUntraced(function* <E, R>(
  { endedBefore, limit, organization, subjectReference }: Archiving,
  each: (ended: EndedMandate) => Effect.Effect<boolean, E, R>
): Effect.fn.Return<boolean, E | StoreUnavailable, R | EndedMandates> {
  const port = yield* EndedMandates
  let left = limit
  let after: string | undefined
  do {
    const page = yield* port.list({
      organization,
      endedBefore,
      ...(subjectReference === undefined ? {} : { subjectReference }),
      ...(after === undefined ? {} : { after })
    })
    for (const ended of page.mandates) {
      if (left === 0) return true
      if (yield* each(ended)) left -= 1
    }
    after = page.next
  } while (after !== undefined)
  return false
})

/** Archives the ended mandates of an organization one after another, and removes the rows of each that is safe there. */
export const archiveEnded = Effect.fn("archiveEnded")(function* (
  place: ArchivePlace,
  archiving: Archiving
): Effect.fn.Return<ArchivingResult, StartFault | StoreUnavailable, Services> {
  const port = yield* EndedMandates
  const { endedBefore, isDeleting, organization } = archiving
  const result: ArchivingResult = {
    ended_before: formatNanos(endedBefore),
    archived: 0,
    archived_before: 0,
    removed: 0,
    kept: [],
    failed: [],
    has_more: false
  }
  result.has_more = yield* eachEnded(archiving, (ended) =>
    Effect.gen(function* () {
      const { mandate } = ended
      const archived = yield* Effect.result(archiveMandate(place, organization, ended))
      if (Result.isFailure(archived)) {
        if (archived.failure._tag === "MandateRemoved") return false
        if (archived.failure._tag !== "ArchiveUnsound") return yield* Effect.fail(archived.failure)
        result.failed.push({ mandate, reason: archived.failure.line })
        return false
      }
      result[archived.success.wasThere ? "archived_before" : "archived"] += 1
      if (!isDeleting) return !archived.success.wasThere
      return yield* Effect.match(port.remove({ organization, ended, endedBefore }), {
        onSuccess: () => Result.succeed(undefined),
        onFailure: (fault) => Result.fail(fault)
      }).pipe(
        Effect.flatMap((removed) => {
          if (Result.isSuccess(removed)) result.removed += 1
          else if (removed.failure._tag === "MandateKept")
            result.kept.push({ mandate, reason: removed.failure.reason })
          else return Effect.fail(removed.failure)
          return Effect.succeed(Result.isSuccess(removed) || !archived.success.wasThere)
        })
      )
    })
  )
  return result
})

/** What a run would archive. */
export const countEnded = Effect.fnUntraced(function* (archiving: Archiving) {
  const mandates: Array<{
    readonly mandate: string
    readonly state: string
    readonly last_event_at: string
  }> = []
  const has_more = yield* eachEnded(archiving, ({ mandate, occurredAt, state }) =>
    Effect.sync(() => {
      mandates.push({ mandate, state, last_event_at: formatNanos(occurredAt) })
      return true
    })
  )
  return {
    ended_before: formatNanos(archiving.endedBefore),
    would_archive: mandates.length,
    mandates,
    has_more
  }
})

/** The instant of `--ended-before` or `--older-than`, one of which is given. */
export const endedBeforeOf = Effect.fnUntraced(function* (
  before: string | undefined,
  days: string | undefined,
  isDeleting: boolean
): Effect.fn.Return<Instant, StartFault> {
  if ((before === undefined) === (days === undefined))
    return yield* usageFault("one of --ended-before and --older-than must be given")
  const now = yield* Clock.currentTimeNanos
  const daysAgo = (count: bigint) => now - count * SECONDS_PER_DAY * NANOS_PER_SECOND
  if (days !== undefined) {
    return /^[1-9]\d{0,4}$/u.test(days)
      ? daysAgo(BigInt(days))
      : yield* usageFault("--older-than must be a number of days from 1 to 99999")
  }
  const instant = parseTimestamp(before!)
  if (instant === undefined)
    return yield* usageFault("--ended-before must be a timestamp such as 2030-01-01T00:00:00Z")
  if (isDeleting && instant > daysAgo(LEAST_DAYS_TO_DELETE))
    return yield* usageFault(`--delete needs an --ended-before of at least ${LEAST_DAYS_TO_DELETE} day ago`)
  return instant
})

/**
 * An instant that is so many days ago by the clock of the store, too, if it is not that old already: the clock of this machine
 * may be fast, and what is removed does not come back.
 */
export const alsoByStoreClock = Effect.fnUntraced(function* <
  A extends Pick<Archiving, "organization" | "endedBefore">
>(archiving: A, days: bigint): Effect.fn.Return<A, StoreUnavailable, MandateStore> {
  const { now } = yield* (yield* MandateStore).load({ organization: archiving.organization })
  const latest = now - days * SECONDS_PER_DAY * NANOS_PER_SECOND
  return archiving.endedBefore < latest ? archiving : { ...archiving, endedBefore: latest }
})

type MasterKeys = Effect.Success<typeof masterKeyConfig>

/** The signer of the deployment, whose keys the store keeps. */
export const signerOf = (keys: MasterKeys): Layer.Layer<Signer, StartFault, PostgresPorts> =>
  storedSigner().pipe(Layer.provide(Layer.orDie(SecretSealerNodeCrypto.layer(keys))))

/** Whether something in the archive does not verify. */
export const hasFailed = (answer: object): boolean =>
  "failed" in answer && Array.isArray(answer.failed) && answer.failed.length > 0

const archive: StoreCommand = {
  name: "mandate archive",
  help: helpOf(
    `svc mandate archive --organization <id> --older-than <days> --to <folder|s3://bucket/prefix>: writes the signed evidence of each
mandate that has ended, with the key set that it verifies with and a manifest, reads it back, and verifies it. What an earlier
run wrote is verified and left. A mandate counts once it is in a final state, nothing of it is open, and its last event, late
reports too, is old enough.

  --organization <id>         whose mandates; required
  --older-than <days>         those whose last event is older than so many days
  --ended-before <timestamp>  or that occurred before, such as 2030-01-01T00:00:00Z
  --to <place>                a folder, or a bucket of an S3-compatible store; required
  --subject <text>            those of one end user, by its subject_reference
  --limit <1-${MAX_MANDATES}>            how many to write or remove; default ${DEFAULT_MANDATES}
  --dry-run                   lists them, and does nothing
  --delete                    removes the rows of each mandate after its archive has been verified, for good: reads of it and
                              late reports are then answered 404. Its idempotency keys and commitments stay taken. Not before
                              all servers run this release. Default: never

Prints what became of them. Exits 1 if something in the archive does not verify; no row of such a mandate is removed.

Example: svc mandate archive --organization org_... --older-than 400 --to s3://evidence/svc --delete`,
    SETTINGS_OF.archive
  ),
  isFailure: hasFailed,
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions(
      {
        organization: "one",
        "older-than": "one",
        "ended-before": "one",
        to: "one",
        subject: "one",
        limit: "one",
        "dry-run": "flag",
        delete: "flag"
      },
      words
    )
    const isDryRun = options["dry-run"]
    const given = yield* validateAll({
      organization: requiredOption(options.organization, "organization"),
      place: Effect.flatMap(requiredOption(options.to, "to"), archiveAt),
      endedBefore: endedBeforeOf(options["ended-before"], options["older-than"], options.delete),
      limit: limitOption(options.limit, { byDefault: DEFAULT_MANDATES, most: MAX_MANDATES }),
      keys: masterKeyConfig
    })
    const archiving: Archiving = {
      organization: given.organization,
      endedBefore: given.endedBefore,
      limit: given.limit,
      isDeleting: options.delete,
      ...(options.subject === undefined ? {} : { subjectReference: options.subject })
    }
    const days = BigInt(options["older-than"] ?? (options.delete ? LEAST_DAYS_TO_DELETE : 0))
    return Effect.as(findOrganization(given.organization), {
      organization: given.organization,
      act: Effect.flatMap(alsoByStoreClock(archiving, days), (dated): Operation["act"] =>
        isDryRun
          ? countEnded(dated)
          : archiveEnded(given.place, dated).pipe(
              Effect.provide(Layer.merge(signerOf(given.keys), RandomnessNodeCrypto.layer))
            )
      )
    })
  })
}

export const archiveCommands: ReadonlyArray<StoreCommand> = [archive]
