import { assert } from "@effect/vitest"
import { MandateStore, StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { createdChange, followingChange, newIdentifier, revokedFact } from "@svc/testkit/StoreFixtures"
import { Cause, Context, Effect, Exit, Layer, Option, Redacted, Schedule } from "effect"
import * as PostgresStore from "../src/PostgresStore.ts"

/** Streams that are written while things go wrong, and what must hold of them whatever did. */

type Store = MandateStore["Service"]

interface Place {
  readonly organization: string
  readonly mandate: string
}

export type StoreOptions = Partial<
  Omit<PostgresStore.PostgresOptions, "url"> & { readonly migrations: "run" | "require" }
> & { readonly url: string; readonly schema: string }

/** The store in a schema of the server, with connections of its own. */
export const storeIn = ({ url, ...options }: StoreOptions) =>
  Effect.map(
    Layer.build(Layer.fresh(PostgresStore.layer({ migrations: "run", ...options, url: Redacted.make(url) }))),
    (ports) => Context.get(ports, MandateStore)
  )

/** Records a mandate of a new organization. */
export const newMandate = Effect.fn("newMandate")(function* (store: Store) {
  const mandate = newIdentifier("mnd_")
  const organization = newIdentifier("org_")
  const { now } = yield* store.load({ organization })
  const place = { organization, mandate, subjectReference: mandate }
  yield* store.append(createdChange(place, now))
  return place
})

/** One event more, at whatever revision the stream is. */
export const addEvent = Effect.fn("addEvent")(function* (store: Store, place: Place) {
  const { now, stream } = yield* store.load({ organization: place.organization, stream: place })
  if (stream === undefined) return yield* Effect.die(new Error("the mandate is gone"))
  return yield* store.append(followingChange({ now, stream }, [revokedFact(now)]))
})

export const isUnavailable = <A, E>(exit: Exit.Exit<A, E>): boolean =>
  Exit.isFailure(exit) && Option.getOrUndefined(Cause.findErrorOption(exit.cause)) instanceof StoreUnavailable

/** Asserts that a call failed as the port says, and not otherwise. */
export const assertUnavailable = <A, E>(exit: Exit.Exit<A, E>): void =>
  assert.isTrue(isUnavailable(exit), Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "it succeeded")

/** Longest that anything may take before it counts as a hang. */
const HANG = "60 seconds"

/** The outcome of a call that must not hang. */
export const bounded = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.exit(call).pipe(
    Effect.timeoutOrElse({ duration: HANG, orElse: () => Effect.die(new Error("a hang")) })
  )

/** A call that is made again until it succeeds: nobody has to help. */
export const recovered = Effect.retry({ schedule: Schedule.spaced("50 millis"), times: 1200 })

/** Asserts that the stream is whole: as many events as its head says, at least those that were acknowledged. */
export const assertWhole = Effect.fn("assertWhole")(function* (
  store: Store,
  place: Place,
  acknowledged: number
) {
  const { stream } = yield* store.load({ organization: place.organization, stream: place })
  const texts = yield* store.journal({ ...place, afterSeq: 0, uptoSeq: 10_000, limit: 10_000 })
  assert.strictEqual(texts.length, stream?.head.seq)
  assert.strictEqual(stream?.revision, texts.length)
  assert.isAtLeast(texts.length, acknowledged)
  let previous: string | undefined
  for (const text of texts) {
    const event = JSON.parse(text)
    assert.strictEqual(event.previous_hash, previous)
    previous = event.hash
  }
  assert.strictEqual(previous, stream?.head.hash)
})
