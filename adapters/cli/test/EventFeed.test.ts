import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bodyOf, startService, type Tenant } from "./ServiceUnderTest.ts"

const problemOf = (tenant: Tenant, path: string, status: number, key?: string) =>
  Effect.map(
    tenant.send({ path, ...(key === undefined ? {} : { key }) }),
    (answer) => bodyOf(answer, status).code
  )

describe("GET /v1/events (part 8)", () => {
  it.live("lists the events of all mandates as in their journals, each with its mandate", () =>
    Effect.gen(function* () {
      const { tenant } = yield* startService()
      const first = yield* tenant.newMandate()
      const second = yield* tenant.activeMandate()
      const { data, has_more, next_cursor } = yield* tenant.get("/v1/events")
      assert.isFalse(has_more)
      assert.isString(next_cursor)
      for (const { id } of [first, second]) {
        const journal = yield* tenant.get(`/v1/mandates/${id}/events`)
        assert.deepStrictEqual(
          data.filter(({ mandate_id }: { mandate_id: string }) => mandate_id === id),
          journal.data.map((event: object) => ({ mandate_id: id, ...event }))
        )
      }
      assert.lengthOf(data, 3)
      assert.deepStrictEqual(
        Object.keys(data[0]).filter((name) => name === "mandate_id" || name === "hash"),
        ["mandate_id", "hash"]
      )
    })
  )

  it.live("continues from next_cursor, also from the end of the list", () =>
    Effect.gen(function* () {
      const { tenant } = yield* startService()
      const empty = yield* tenant.get("/v1/events")
      assert.deepStrictEqual([empty.data, empty.has_more], [[], false])
      yield* tenant.newMandate()
      yield* tenant.newMandate()
      const page = yield* tenant.get(`/v1/events?limit=1&after=${empty.next_cursor}`)
      assert.deepStrictEqual([page.data.length, page.has_more], [1, true])
      const last = yield* tenant.get(`/v1/events?limit=1&after=${page.next_cursor}`)
      assert.deepStrictEqual([last.data.length, last.has_more], [1, false])
      const end = yield* tenant.get(`/v1/events?after=${last.next_cursor}`)
      assert.deepStrictEqual(end, { data: [], has_more: false, next_cursor: last.next_cursor })
      const third = yield* tenant.newMandate()
      const { data } = yield* tenant.get(`/v1/events?after=${end.next_cursor}`)
      assert.deepStrictEqual(
        data.map((event: { mandate_id: string }) => event.mandate_id),
        [third.id]
      )
    })
  )

  it.live("refuses other parameters and foreign cursors, and needs the scope read", () =>
    Effect.gen(function* () {
      const { other, tenant } = yield* startService()
      yield* tenant.newMandate()
      yield* tenant.newMandate()
      const { next_cursor } = yield* tenant.get("/v1/mandates?limit=1")
      const { next_cursor: own } = yield* tenant.get("/v1/events")
      for (const cursor of ["", "x", next_cursor, `${own}A`]) {
        const path = `/v1/events?after=${encodeURIComponent(cursor)}`
        assert.strictEqual(yield* problemOf(tenant, path, 400), "invalid_cursor")
      }
      assert.strictEqual(yield* problemOf(other, `/v1/events?after=${own}`, 400), "invalid_cursor")
      for (const query of ["cursor=x", "limit=0", "limit=101", "after=a&after=b", "from=x"]) {
        assert.strictEqual(yield* problemOf(tenant, `/v1/events?${query}`, 400), "malformed_request")
      }
      const writer = yield* tenant.makeKey({ scopes: ["write", "webhooks"] })
      assert.strictEqual(yield* problemOf(tenant, "/v1/events", 403, writer), "scope_insufficient")
    })
  )
})
