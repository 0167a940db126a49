import { assert, describe, it } from "@effect/vitest"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { Effect, Layer } from "effect"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import { attempted, makeReceivers, webhookCaller } from "../../test/WebhookReceivers.ts"
import { listWebhookDeliveries, redeliverWebhook, testWebhookEndpoint } from "./WebhookDeliveries.ts"

const caller = webhookCaller()
const organization = caller.organization.id

const programs = () => Layer.merge(memoryPrograms(), makeReceivers().layer)

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

const sendTest = (endpointId: string, key = "") =>
  testWebhookEndpoint({ ...caller.writeOf({}, key), endpointId })

describe("deliveries of a webhook endpoint", () => {
  it.effect("are listed newest first, page by page, for their endpoint alone", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { id: endpointId } = (yield* caller.register()).resource
      const other = (yield* caller.register({ url: "https://other.example/" })).resource
      const first = (yield* sendTest(endpointId)).resource
      const second = (yield* sendTest(endpointId)).resource
      const third = (yield* sendTest(endpointId)).resource
      yield* sendTest(other.id)
      const list = (limit: number, cursor?: string) =>
        listWebhookDeliveries({
          organization,
          endpointId,
          limit,
          ...(cursor === undefined ? {} : { cursor })
        })
      const newest = [third, second, first].toSorted((one, next) => (one.id < next.id ? 1 : -1))
      const all = yield* list(3)
      assert.deepStrictEqual(all, { data: newest, has_more: false, next_cursor: null })
      const page = yield* list(2)
      assert.deepStrictEqual([page.data, page.has_more], [newest.slice(0, 2), true])
      assert.deepStrictEqual((yield* list(2, page.next_cursor ?? "")).data, newest.slice(2))
      const foreign = { organization, endpointId: other.id, limit: 2, cursor: page.next_cursor ?? "" }
      assert.strictEqual(yield* tagOf(listWebhookDeliveries(foreign)), "InvalidCursor")
    }).pipe(Effect.provide(programs()))
  )

  it.effect("are of an endpoint that exists", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.register()
      const { id: deliveryId } = (yield* sendTest(resource.id)).resource
      for (const endpointId of [newIdentifier("whe_"), newIdentifier("mnd_"), "", "whe_x"]) {
        assert.strictEqual(
          yield* tagOf(listWebhookDeliveries({ organization, endpointId, limit: 1 })),
          "NotFound"
        )
        assert.strictEqual(yield* tagOf(sendTest(endpointId)), "NotFound")
        const redeliver = redeliverWebhook({ ...caller.writeOf({}, ""), endpointId, deliveryId })
        assert.strictEqual(yield* tagOf(redeliver), "NotFound")
      }
      for (const deliveryId of [newIdentifier("dlv_"), newIdentifier("evt_"), "", "dlv_x"]) {
        const redeliver = redeliverWebhook({
          ...caller.writeOf({}, ""),
          endpointId: resource.id,
          deliveryId
        })
        assert.strictEqual(yield* tagOf(redeliver), "NotFound")
      }
    }).pipe(Effect.provide(programs()))
  )

  it.effect("of a test are one per key, and one per request without a key", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { id: endpointId } = (yield* caller.register()).resource
      const made = yield* sendTest(endpointId, "once")
      assert.isFalse(made.replayed)
      assert.deepStrictEqual(yield* sendTest(endpointId, "once"), { ...made, replayed: true })
      assert.notStrictEqual(
        (yield* sendTest(endpointId)).resource.id,
        (yield* sendTest(endpointId)).resource.id
      )
      const { data } = yield* listWebhookDeliveries({ organization, endpointId, limit: 10 })
      assert.lengthOf(data, 3)
      const other = (yield* caller.register({ url: "https://other.example/" })).resource
      assert.strictEqual(yield* tagOf(sendTest(other.id, "once")), "IdempotencyKeyReused")
    }).pipe(Effect.provide(programs()))
  )

  it.effect("that are sent again are one per key, which is of one delivery", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { id: endpointId } = (yield* caller.register()).resource
      const [one, two] = [(yield* sendTest(endpointId)).resource, (yield* sendTest(endpointId)).resource]
      yield* attempted
      const again = (deliveryId: string) =>
        redeliverWebhook({ ...caller.writeOf({}, "again"), endpointId, deliveryId })
      const made = yield* again(one.id)
      assert.deepStrictEqual(yield* again(one.id), { ...made, replayed: true })
      assert.strictEqual(yield* tagOf(again(two.id)), "IdempotencyKeyReused")
    }).pipe(Effect.provide(programs()))
  )
})
