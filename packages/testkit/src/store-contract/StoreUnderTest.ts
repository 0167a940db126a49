import { DueLeases } from "@svc/domain/ports/DueLeases"
import { MandateStore, type StreamChange } from "@svc/domain/ports/MandateStore"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import type { Instant } from "@svc/protocol/Timestamp"
import { Effect, type Scope } from "effect"
import {
  type ChangeParts,
  type Current,
  createdChange,
  HOUR,
  type MandatePlace,
  newDigest,
  newIdentifier
} from "../StoreFixtures.ts"

/** Whether the tests drive the store's clock, or only read it. */
export type StoreClock = "test" | "live"

/** 2026-01-01T00:00:00Z, where a test clock starts: timestamps before the year 2000 are not readable. */
export const CONTRACT_START_MILLISECONDS = 1_767_225_600_000

/** How the tests of the contract are registered: with the storage ports at hand. */
export interface StoreIt {
  readonly describe: (group: string, define: () => void) => void
  readonly effect: (
    title: string,
    program: () => Effect.Effect<unknown, unknown, StoragePorts | Scope.Scope>
  ) => void
}

/** A limit that no test comes near. */
export const PLENTY = 1000

/** More streams than all the tests together leave due. */
const MORE_THAN_ALL = 100_000

/** A mandate of a new organization and a new subject, unless given; not recorded yet. */
export const newPlace = (parts: Partial<MandatePlace> = {}): MandatePlace => {
  const mandate = parts.mandate ?? newIdentifier("mnd_")
  return { organization: newIdentifier("org_"), subjectReference: `subject of ${mandate}`, ...parts, mandate }
}

/** The store's clock. */
export const storeNow = Effect.gen(function* () {
  const store = yield* MandateStore
  return (yield* store.load({ organization: newIdentifier("org_") })).now
})

/** Every stream that is due and not leased, over all organizations, earliest first. */
export const everyDue = Effect.gen(function* () {
  const leases = yield* DueLeases
  const token = newDigest()
  const streams = yield* leases.take({ token, limit: MORE_THAN_ALL, lasts: HOUR })
  yield* leases.release({ token, streams })
  return streams
})

/** Loads a mandate that is there, with session and subject. */
export const loadCurrent = Effect.fn("loadCurrent")(function* (place: {
  readonly organization: string
  readonly mandate: string
}) {
  const store = yield* MandateStore
  const { organization, mandate } = place
  const { now, stream } = yield* store.load({ organization, stream: { mandate }, approval: true })
  if (stream === undefined) return yield* Effect.die(new Error(`${mandate} is not in the store`))
  const current: Current = { now, stream }
  return current
})

/** Records a new mandate and loads it. `parts` may be worked out from the instant it is created at. */
export const recordMandate = Effect.fn("recordMandate")(function* (
  place: Partial<MandatePlace> = {},
  parts: (now: Instant) => ChangeParts & { readonly occurredAt?: Instant } = () => ({})
) {
  const store = yield* MandateStore
  const now = yield* storeNow
  const change = createdChange(newPlace(place), now, parts(now))
  yield* store.append(change)
  return yield* loadCurrent(change)
})

/** Appends and loads the stream again. */
export const appendAndLoad = Effect.fn("appendAndLoad")(function* (change: StreamChange) {
  const store = yield* MandateStore
  yield* store.append(change)
  return yield* loadCurrent(change)
})

/** Everything that a change could leave behind, as far as the ports show it. Clocks are left out. */
export const observe = Effect.fn("observe")(function* (change: StreamChange) {
  const store = yield* MandateStore
  const subjects = yield* SubjectStore
  const { organization, mandate } = change
  const subjectReference = change.mandateState.terms.subject_reference
  const at = { organization, mandate }
  const byAuthorization = yield* Effect.forEach(change.authorizations, ({ id }) =>
    store.load({ organization, stream: { authorization: id } })
  )
  const byToken = yield* Effect.forEach(change.sessions, ({ tokenHash }) =>
    store.load({ stream: { approvalTokenHash: tokenHash }, approval: true })
  )
  const claims = yield* Effect.forEach(change.claims, (claim) =>
    store.load({ organization, claims: [claim] })
  )
  const mandates = yield* store.listMandates({ organization, limit: PLENTY })
  const authorizations = yield* store.listAuthorizations({ ...at, limit: PLENTY })
  return {
    stream: (yield* store.load({ organization, stream: { mandate }, approval: true })).stream,
    byAuthorization: byAuthorization.map(({ stream }) => stream),
    byToken: byToken.map(({ stream }) => stream),
    claims: claims.map(({ held }) => held),
    mandates: mandates.mandates,
    due: mandates.due,
    authorizations: authorizations?.authorizations,
    journal: yield* store.journal({ ...at, afterSeq: 0, uptoSeq: PLENTY, limit: PLENTY }),
    subject: (yield* subjects.load({ organization, subjectReference })).subject
  }
})
