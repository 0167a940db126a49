import type { AuthorizationStateName } from "@svc/protocol/Authorization"
import type { MandateStateName } from "@svc/protocol/Mandate"
import type { Instant } from "@svc/protocol/Timestamp"
import { Context, Data, type Effect } from "effect"
import type { ApprovalSessionState, SubjectCredentials } from "../approval/ApprovalSessionState.ts"
import type { AuthorizationState, MandateState, StreamHead, StreamState } from "../mandate/MandateState.ts"
import type { SealedEvent } from "../mandate/SealedEvent.ts"

/** The store cannot be reached or cannot respond, and nothing was decided. The response is 503. */
export class StoreUnavailable extends Data.TaggedError("StoreUnavailable")<{
  /** For the log only. */
  readonly cause?: unknown
  readonly retryAfterSeconds?: number
}> {}

/** Another append came first, so the stream or the subject has another revision: load again. */
export class Stale extends Data.TaggedError("Stale")<Record<never, never>> {}

/** The instant `recordBefore` of the change has come: load and decide again. */
export class OutOfTime extends Data.TaggedError("OutOfTime")<Record<never, never>> {}

/** A unique claim of the change is held already. */
export class ClaimTaken extends Data.TaggedError("ClaimTaken")<
  ClaimName & { readonly holder: ClaimHolder }
> {}

/**
 * What may be claimed once in an organization: an idempotency key, whichever operation it served (part 3), a
 * commitment (part 5), the `jti` of an identity assertion (part 6).
 */
export type ClaimKind = "idempotency_key" | "commitment" | "assertion"

/** What holds a claim. */
export interface ClaimHolder {
  /** Fingerprint of the input that holds the claim; empty where the kind has none. */
  readonly fingerprint: string
  /** Identifier of the resource that the claim stands for. */
  readonly resource: string
}

/** What is claimed, as it is looked up. */
export interface ClaimName {
  readonly kind: ClaimKind
  /** What is claimed, such as an idempotency key as it was sent. */
  readonly name: string
}

/** A claim and what holds it. */
export interface HeldClaim extends ClaimName, ClaimHolder {}

/** A claim to be recorded. */
export interface UniqueClaim extends HeldClaim {
  /** From that instant on the claim is free, for others to make too. Absent: it lives as long as its stream. */
  readonly expiresAt?: Instant
}

/**
 * Which stream to load. A malformed identifier names no stream. A token leads to its session's stream
 * whatever the state of the session.
 */
export type StreamReference =
  | { readonly mandate: string }
  | { readonly authorization: string }
  | { readonly approvalSession: string }
  | { readonly approvalTokenHash: string }

/** What a command needs of the store. */
export interface LoadQuery {
  /**
   * Absent only with `approvalTokenHash`: the token names its organization. Given beside a token of another
   * organization, there is no stream.
   */
  readonly organization?: string
  readonly stream?: StreamReference
  /**
   * Authorizations of the stream to be loaded in full beside the one that `stream` names. Those that the
   * stream does not have are passed over.
   */
  readonly authorizations?: ReadonlyArray<string>
  /** Claims to look up in the same round trip, whether or not there is a stream. */
  readonly claims?: ReadonlyArray<ClaimName>
  /** Load the newest approval session (or the one that `stream` names) and the subject's passkeys too. */
  readonly approval?: boolean
}

/** A mandate as it is recorded, with what the query asked for. */
export interface LoadedStream {
  readonly organization: string
  readonly revision: number
  readonly head: StreamHead
  /**
   * All open reservations in order of creation, and in full those authorizations alone that were asked for,
   * and every open one whose `expiresAt` is not after `now`.
   */
  readonly state: StreamState
  /**
   * With `approval`: the session that `stream` names by its token or identifier, else the newest of the
   * mandate, which is the one that was added last, however often another was changed since.
   */
  readonly session?: ApprovalSessionState
  /** With `approval`: the passkeys of the mandate's subject, if it was ever given a user handle. */
  readonly subject?: SubjectCredentials
}

/** What a load found, at one instant. */
export interface Loaded {
  /** One instant for the whole command: max(store clock, `occurred_at` of the head). */
  readonly now: Instant
  /**
   * Those of the claims asked for that are held at the store's clock, as an append would find them, in any order. `now` plays no
   * part: a stream whose head lies after the clock frees no claim early.
   */
  readonly held: ReadonlyArray<HeldClaim>
  readonly stream?: LoadedStream
}

/** One atomic change of one stream: all of it is recorded, or nothing. */
export interface StreamChange {
  readonly organization: string
  readonly mandate: string
  /** The first append gives a stream revision 1, and each one after it the next. */
  readonly expected: "absent" | number
  /** The `now` that the change was decided at. */
  readonly decidedAt: Instant
  /** Refused with `OutOfTime` when the store's clock, read under the stream's lock, has reached it. */
  readonly recordBefore: Instant
  /** May be empty: sessions, challenges and claims change a stream without an event. */
  readonly events: ReadonlyArray<SealedEvent>
  readonly mandateState: MandateState
  /** The end of the stream that the events follow; absent for a new stream. */
  readonly headBefore?: StreamHead
  /** The end that the events lead to: `headBefore` when there are none. */
  readonly headAfter: StreamHead
  /** When the stream's next transition is due, if one is to come. */
  readonly nextDue: Instant | undefined
  /** Authorizations that are new or changed, in full. */
  readonly authorizations: ReadonlyArray<AuthorizationState>
  /** Sessions that are new or changed, in full. */
  readonly sessions: ReadonlyArray<ApprovalSessionState>
  /**
   * The subject's passkeys after the change, if its own revision is still `expected`. The store counts that
   * revision as one of webhook endpoints (`StoredEndpoint`); `next.revision` is not read.
   */
  readonly subject?: {
    readonly reference: string
    readonly expected: "absent" | number
    readonly next: SubjectCredentials
  }
  /** Each at most once. */
  readonly claims: ReadonlyArray<UniqueClaim>
}

/** What an append tells: the revision that the stream has now. */
export interface Appended {
  readonly revision: number
}

/** Which mandates of an organization are listed. */
export interface MandateListQuery {
  readonly organization: string
  readonly state?: MandateStateName
  readonly subjectReference?: string
  /** Exclusive: entries whose identifier is below this one, which need not exist. */
  readonly after?: string
  readonly limit: number
}

/** A page of the mandates of an organization. */
export interface MandateList {
  /** The store's clock alone; the last event of a mandate shown may lie after it (`updatedAt`). */
  readonly now: Instant
  /**
   * Streams that this list could show and that have a transition due at `now`, earliest first, at most
   * `DUE_STREAMS_PER_LIST` + 1: all of the organization within `after` and `subjectReference`, whatever
   * their state, which the transition may change. When there are any, the page must not be shown before
   * they are recorded.
   */
  readonly due: ReadonlyArray<string>
  /**
   * Newest first, that is by descending identifier (bytes of the text); one more than `limit` when there
   * are more.
   */
  readonly mandates: ReadonlyArray<MandateState>
}

/** Which authorizations of a mandate are listed. */
export interface AuthorizationListQuery {
  readonly organization: string
  readonly mandate: string
  readonly state?: AuthorizationStateName
  /** Exclusive: authorizations created before the one with this order. */
  readonly afterOrder?: number
  readonly limit: number
}

/** A page of the authorizations of a mandate. */
export interface AuthorizationList {
  /** As in `Loaded`. */
  readonly now: Instant
  readonly mandate: MandateState
  /** Whether the stream has a transition due at `now`. */
  readonly due: boolean
  /** Newest first, that is by descending `order`; one more than `limit` when there are more. */
  readonly authorizations: ReadonlyArray<AuthorizationState>
}

/** Which events of a mandate are read. */
export interface JournalQuery {
  readonly organization: string
  readonly mandate: string
  /** Exclusive. */
  readonly afterSeq: number
  /** Inclusive. */
  readonly uptoSeq: number
  readonly limit: number
}

/** Most streams that a list brings up to date before it answers 503 (part 4). */
export const DUE_STREAMS_PER_LIST = 200

/**
 * Where mandates, their authorizations and their journals are kept. Every read is consistent in itself,
 * and names the store's own clock: no other clock decides anything.
 *
 * What goes into an operation of any port of a store and what comes out of it is plain data, which `structuredClone` copies
 * as it is: texts, numbers, bigints, booleans, lists, maps, and objects without a class.
 */
export class MandateStore extends Context.Service<
  MandateStore,
  {
    /** Loads what one command needs, in one round trip. */
    readonly load: (query: LoadQuery) => Effect.Effect<Loaded, StoreUnavailable>
    /**
     * Records one change atomically. The order of refusals is: `Stale` (stream, then subject),
     * `OutOfTime`, `ClaimTaken` (the first of `claims` that is held). What was refused left no trace. A change
     * that no correct caller produces (see `brokenInvariant`) is a defect, and records nothing either.
     */
    readonly append: (
      change: StreamChange
    ) => Effect.Effect<Appended, Stale | OutOfTime | ClaimTaken | StoreUnavailable>
    readonly listMandates: (query: MandateListQuery) => Effect.Effect<MandateList, StoreUnavailable>
    /** Absent when the organization has no such mandate. */
    readonly listAuthorizations: (
      query: AuthorizationListQuery
    ) => Effect.Effect<AuthorizationList | undefined, StoreUnavailable>
    /**
     * Canonical texts of events in ascending order of `seq`, byte for byte as they were appended; at most
     * `limit`, the first of the range. None when the organization has no such mandate.
     */
    readonly journal: (query: JournalQuery) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
  }
>()("@svc/domain/ports/MandateStore") {}
