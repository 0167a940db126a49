import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EventFeed } from "@svc/domain/ports/EventFeed"
import { MandateStore, Stale } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import type { Instant } from "@svc/protocol/Timestamp"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { deepFreeze } from "./DeepFreeze.ts"
import { appendChange } from "./MemoryAppend.ts"
import { clean } from "./MemoryCleaning.ts"
import { readFeed } from "./MemoryFeed.ts"
import { releaseDue, takeDue } from "./MemoryLeases.ts"
import {
  findApiKey,
  findOrganization,
  listApiKeys,
  putApiKey,
  putOrganization,
  recordApiKeyUse
} from "./MemoryOrganizations.ts"
import { listAuthorizations, listMandates, loadStream, readJournal } from "./MemoryReads.ts"
import { MemoryState } from "./MemoryState.ts"
import * as Webhooks from "./MemoryWebhooks.ts"

/**
 * A store that lives and dies with its process: for tests, for embedding and for trying things out. One
 * layer serves the storage ports over one state, and each build of it starts empty.
 *
 * Its clock is Effect's `Clock` (nanoseconds since the Unix epoch), but never runs backwards. Every
 * operation is one synchronous step, so each is atomic and sees all operations that completed before it. Records are
 * frozen when they are written and handed out as they are.
 */
export const layer: Layer.Layer<StoragePorts> = Layer.effectContext(
  Effect.sync(() => Context.add(storagePortsOn(new MemoryState()), StreamTurns, makeTurns()))
)

/** The storage ports on a state, without turns: whoever shares a state among processes gives each its own. */
export const storagePortsOn = (state: MemoryState): Context.Context<StoragePorts> =>
  Context.empty().pipe(
    Context.add(MandateStore, mandateStore(state)),
    Context.add(EventFeed, {
      read: (query) => Effect.suspend(() => Effect.fromResult(readFeed(state, query)))
    }),
    Context.add(SubjectStore, subjectStore(state)),
    Context.add(Organizations, organizations(state)),
    Context.add(DueLeases, dueLeases(state)),
    Context.add(WebhookStore, webhookStore(state)),
    Context.add(StoreCleaning, { clean: (step) => answerAtNow(state, (now) => clean(state, step, now)) }),
    Context.add(StoreHealth, { faults: Effect.succeed([]) })
  )

/** Runs one step at one reading of the store's clock. */
const atNow = <A, E>(state: MemoryState, step: (now: Instant) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Clock.clockWith((clock) => Effect.suspend(() => step(state.advance(clock.currentTimeNanosUnsafe()))))

/** {@link atNow} for a step that only reads, or cannot be refused. */
const answerAtNow = <A>(state: MemoryState, step: (now: Instant) => A): Effect.Effect<A> =>
  atNow(state, (now) => Effect.succeed(step(now)))

const mandateStore = (state: MemoryState): MandateStore["Service"] => ({
  load: (query) => answerAtNow(state, (now) => loadStream(state, query, now)),
  append: (change) => atNow(state, (now) => Effect.fromResult(appendChange(state, change, now))),
  listMandates: (query) => answerAtNow(state, (now) => listMandates(state, query, now)),
  listAuthorizations: (query) => answerAtNow(state, (now) => listAuthorizations(state, query, now)),
  journal: (query) => Effect.sync(() => readJournal(state, query))
})

const dueLeases = (state: MemoryState): DueLeases["Service"] => ({
  take: (query) => answerAtNow(state, (now) => takeDue(state, query, now)),
  release: (query) => Effect.sync(() => releaseDue(state, query))
})

const subjectStore = (state: MemoryState): SubjectStore["Service"] => ({
  load: ({ organization, subjectReference }) =>
    answerAtNow(state, (now) => ({
      now,
      subject: state.tenant(organization)?.subjects.get(subjectReference)
    })),
  replace: ({ expected, next, organization, subjectReference }) =>
    Effect.suspend(() => {
      const subjects = state.tenant(organization)?.subjects
      if (subjects?.get(subjectReference)?.revision !== expected) return Effect.fail(new Stale())
      subjects.set(subjectReference, deepFreeze({ ...next, revision: state.nextRevision(expected) }))
      return Effect.void
    })
})

const organizations = (state: MemoryState): Organizations["Service"] => ({
  find: (organization) => Effect.sync(() => findOrganization(state, organization)),
  findApiKey: (hash) => answerAtNow(state, (now) => findApiKey(state, hash, now)),
  listApiKeys: (organization) => answerAtNow(state, (now) => listApiKeys(state, organization, now)),
  recordApiKeyUse: (use) => answerAtNow(state, (now) => recordApiKeyUse(state, use, now)),
  put: (organization) => Effect.sync(() => putOrganization(state, organization)),
  putApiKey: (apiKey) => Effect.sync(() => putApiKey(state, apiKey))
})

const webhookStore = (state: MemoryState): WebhookStore["Service"] => ({
  loadEndpoint: (query) => answerAtNow(state, (now) => Webhooks.loadEndpoint(state, query, now)),
  listEndpoints: (organization) => Effect.sync(() => Webhooks.listEndpoints(state, organization)),
  changeEndpoint: (change) =>
    atNow(state, (now) => Effect.fromResult(Webhooks.changeEndpoint(state, change, now))),
  loadDelivery: (query) => answerAtNow(state, (now) => Webhooks.loadDelivery(state, query, now)),
  listDeliveries: (query) => Effect.sync(() => Webhooks.listDeliveries(state, query)),
  addDelivery: (addition) =>
    atNow(state, (now) => Effect.fromResult(Webhooks.addDelivery(state, addition, now))),
  leaseDue: (query) => answerAtNow(state, (now) => Webhooks.leaseDue(state, query, now)),
  expiredAttempts: (query) => answerAtNow(state, (now) => Webhooks.expiredAttempts(state, query, now)),
  recordAttempts: (ended) =>
    answerAtNow(state, (now) => ended.map((one) => Webhooks.recordEnded(state, one, now))),
  reload: (query) => answerAtNow(state, (now) => Webhooks.reload(state, query, now))
})
