import { assert, describe, it } from "@effect/vitest"
import { JournalEventType } from "@svc/protocol/Journal"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { fromTheStart, memoryPrograms, racingPrograms } from "../../test/MemoryPrograms.ts"
import { makeReceivers, webhookCaller } from "../../test/WebhookReceivers.ts"
import { Stale } from "../ports/MandateStore.ts"
import { WebhookStore } from "../ports/WebhookStore.ts"
import { WebhookTransport } from "../ports/WebhookTransport.ts"
import { listWebhookDeliveries, testWebhookEndpoint } from "./WebhookDeliveries.ts"
import { listWebhookEndpoints, readWebhookEndpoint } from "./WebhookEndpoints.ts"

const caller = webhookCaller()
const organization = caller.organization.id

const programs = (base = memoryPrograms()) => Layer.merge(base, makeReceivers().layer)

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

describe("a webhook endpoint", () => {
  it.effect("is registered with a secret that is shown once", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { replayed, resource } = yield* caller.register({ description: "orders" }, "first")
      const { secret, ...shown } = resource
      assert.isFalse(replayed)
      assert.match(secret ?? "", /^svc_wh_[A-Za-z0-9_-]{43}$/u)
      assert.deepStrictEqual(shown, {
        id: shown.id,
        url: "https://hooks.example/svc",
        event_types: JournalEventType.literals,
        description: "orders",
        status: "active",
        consecutive_failed_attempts: 0,
        consecutive_exhausted_deliveries: 0,
        created_at: "2026-12-01T00:00:00.000000000Z",
        updated_at: "2026-12-01T00:00:00.000000000Z"
      })
      assert.deepStrictEqual(yield* readWebhookEndpoint({ organization, endpointId: shown.id }), shown)
      assert.deepStrictEqual(yield* caller.register({ description: "orders" }, "first"), {
        resource: shown,
        replayed: true
      })
      assert.strictEqual(yield* tagOf(caller.register({}, "first")), "IdempotencyKeyReused")
    }).pipe(Effect.provide(programs()))
  )

  it.effect("may want some types of event, in the order given, each once", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const types = ["mandate.revoked", "mandate.approved"] as const
      const { resource } = yield* caller.register({ event_types: types })
      assert.deepStrictEqual(resource.event_types, types)
      const repeating = caller.register({ event_types: [...types, "authorization.denied", ...types] })
      assert.deepInclude(yield* Effect.flip(repeating), {
        _tag: "ValidationFailed",
        errors: [3, 4].map((index) => ({
          pointer: `/event_types/${index}`,
          code: "duplicate",
          detail: "repeats an earlier entry"
        }))
      })
      for (const event_types of [[], ["mandate.unknown"], ["endpoint.test"], "mandate.approved"]) {
        assert.strictEqual(yield* tagOf(caller.register({ event_types })), "ValidationFailed")
      }
    }).pipe(Effect.provide(programs()))
  )

  it.effect("has a target that is allowed", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const refused = caller.register({ url: "https://hooks.invalid/" })
      assert.deepInclude(yield* Effect.flip(refused), { _tag: "WebhookTargetNotAllowed", form: "host" })
      assert.deepStrictEqual((yield* listWebhookEndpoints({ organization, limit: 25 })).data, [])
    }).pipe(Effect.provide(programs()))
  )

  it.effect("is one of five, also when six are made at once; deleting one makes room", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const made = yield* Effect.all(
        Array.from({ length: 6 }, () => Effect.result(caller.register())),
        { concurrency: "unbounded" }
      )
      const refused = made.filter(Result.isFailure).map(({ failure }) => failure._tag)
      assert.deepStrictEqual(refused, ["WebhookEndpointLimitReached"])
      const { data, has_more, next_cursor } = yield* listWebhookEndpoints({ organization, limit: 25 })
      assert.deepStrictEqual([data.length, has_more, next_cursor], [5, false, null])
      assert.isTrue(data.every((endpoint) => !("secret" in endpoint)))
      const page = yield* listWebhookEndpoints({ organization, limit: 3 })
      const rest = yield* listWebhookEndpoints({ organization, limit: 3, cursor: page.next_cursor! })
      assert.deepStrictEqual([...page.data, ...rest.data], data)
      assert.deepStrictEqual([page.has_more, rest.has_more, rest.next_cursor], [true, false, null])
      yield* caller.remove(data[0]!.id)
      yield* caller.register()
      assert.strictEqual(yield* tagOf(caller.register()), "WebhookEndpointLimitReached")
      yield* webhookCaller("org_01jdyyyyyyyyyyyyyyyyyyyyyy").register()
    }).pipe(Effect.provide(programs(racingPrograms())))
  )

  it.effect("is deleted softly, and once", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { id } = (yield* caller.register()).resource
      yield* TestClock.adjust("1 second")
      yield* caller.remove(id)
      const gone = yield* readWebhookEndpoint({ organization, endpointId: id })
      assert.deepStrictEqual([gone.status, gone.updated_at], ["deleted", "2026-12-01T00:00:01.000000000Z"])
      yield* TestClock.adjust("1 second")
      yield* caller.remove(id)
      assert.deepStrictEqual(yield* readWebhookEndpoint({ organization, endpointId: id }), gone)
      assert.deepStrictEqual((yield* listWebhookEndpoints({ organization, limit: 25 })).data, [])
      for (const change of [caller.reactivate(id), caller.rotate(id)]) {
        const refused = yield* Effect.flip(change)
        assert.deepInclude(refused, { _tag: "StateConflict", currentState: "deleted", resourceId: id })
      }
    }).pipe(Effect.provide(programs()))
  )

  it.effect("has a new secret after a rotation; a replay rotates nothing and omits it", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { id, secret } = (yield* caller.register()).resource
      const rotated = yield* caller.rotate(id, "rotation")
      assert.match(rotated.resource.secret ?? "", /^svc_wh_[A-Za-z0-9_-]{43}$/u)
      assert.notStrictEqual(rotated.resource.secret, secret)
      const { secret: _, ...without } = rotated.resource
      assert.deepStrictEqual(yield* caller.rotate(id, "rotation"), { resource: without, replayed: true })
      const again = yield* caller.rotate(id)
      assert.notStrictEqual(again.resource.secret, rotated.resource.secret)
      const other = (yield* caller.register()).resource
      assert.strictEqual(yield* tagOf(caller.rotate(other.id, "rotation")), "IdempotencyKeyReused")
    }).pipe(Effect.provide(programs()))
  )

  it.effect("is checked for its target once, however often its write is repeated", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const transport = yield* WebhookTransport
      const store = yield* WebhookStore
      const seen = { checks: 0, writes: 0 }
      const registered = caller.register().pipe(
        Effect.provideService(WebhookTransport, {
          ...transport,
          check: (url) => {
            seen.checks += 1
            return transport.check(url)
          }
        }),
        Effect.provideService(WebhookStore, {
          ...store,
          changeEndpoint: (change) => {
            seen.writes += 1
            return seen.writes === 1 ? Effect.fail(new Stale()) : store.changeEndpoint(change)
          }
        })
      )
      assert.isFalse((yield* registered).replayed)
      assert.deepStrictEqual(seen, { checks: 1, writes: 2 })
    }).pipe(Effect.provide(programs()))
  )

  it.effect(
    "keeps the times of what waits for it, when it is rotated or reactivated while it is active",
    () =>
      Effect.gen(function* () {
        yield* fromTheStart
        const { id } = (yield* caller.register()).resource
        for (let count = 0; count < 3; count += 1) {
          yield* testWebhookEndpoint({ ...caller.writeOf({}, ""), endpointId: id })
        }
        const waiting = listWebhookDeliveries({ organization, endpointId: id, limit: 9 })
        const before = yield* waiting
        assert.lengthOf(before.data, 3)
        yield* TestClock.adjust("1 second")
        for (const change of [caller.rotate(id), caller.reactivate(id), caller.reactivate(id, "once")]) {
          assert.isFalse((yield* change).replayed)
          assert.deepStrictEqual(yield* waiting, before)
        }
        assert.isTrue((yield* caller.reactivate(id, "once")).replayed)
      }).pipe(Effect.provide(programs()))
  )

  it.effect("stays as it is when it is reactivated while it is active", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { secret: _, ...endpoint } = (yield* caller.register()).resource
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* caller.reactivate(endpoint.id)).resource, endpoint)
      assert.deepStrictEqual((yield* caller.reactivate(endpoint.id, "once")).resource, endpoint)
    }).pipe(Effect.provide(programs()))
  )

  it.effect("is listed until it is deleted, the newest first, page by page", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const made: Array<string> = []
      for (const name of ["a", "b", "c", "d"]) {
        made.unshift((yield* caller.register({ url: `https://${name}.example/` })).resource.id)
        yield* TestClock.adjust("1 second")
      }
      yield* caller.remove(made[1]!)
      const [newest, , ...older] = made
      const list = (limit: number, cursor?: string) =>
        listWebhookEndpoints({ organization, limit, ...(cursor === undefined ? {} : { cursor }) })
      const ids = (page: { readonly data: ReadonlyArray<{ readonly id: string }> }) =>
        page.data.map(({ id }) => id)
      const all = yield* list(3)
      assert.deepStrictEqual([ids(all), all.has_more, all.next_cursor], [[newest, ...older], false, null])
      const first = yield* list(1)
      assert.deepStrictEqual([ids(first), first.has_more], [[newest], true])
      const rest = yield* list(2, first.next_cursor ?? "")
      assert.deepStrictEqual([ids(rest), rest.has_more], [older, false])
      assert.strictEqual(yield* tagOf(list(1, "another")), "InvalidCursor")
      const foreign = { organization: newIdentifier("org_"), limit: 1, cursor: first.next_cursor ?? "" }
      assert.strictEqual(yield* tagOf(listWebhookEndpoints(foreign)), "InvalidCursor")
    }).pipe(Effect.provide(programs()))
  )

  it.effect("is its organization's alone", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { id } = (yield* caller.register()).resource
      const other = webhookCaller("org_01jdyyyyyyyyyyyyyyyyyyyyyy")
      const named = { organization: other.organization.id, endpointId: id }
      assert.strictEqual(yield* tagOf(readWebhookEndpoint(named)), "NotFound")
      for (const change of [other.rotate(id), other.reactivate(id), other.remove(id)]) {
        assert.strictEqual(yield* tagOf(change), "NotFound")
      }
      for (const endpointId of ["", "whe_", id.toUpperCase(), newIdentifier("whe_"), newIdentifier("mnd_")]) {
        assert.strictEqual(yield* tagOf(readWebhookEndpoint({ organization, endpointId })), "NotFound")
      }
    }).pipe(Effect.provide(programs()))
  )
})
