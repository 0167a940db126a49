import { assert, describe, it } from "@effect/vitest"
import { json, lost, optionsOf, problem, type Step, scriptedFetch } from "../test/ScriptedFetch.ts"
import { createClient, SvcError } from "./index.ts"

const clientOf = (...steps: ReadonlyArray<Step>) => {
  const { fetch, sent } = scriptedFetch(...steps)
  return { sent, svc: createClient(optionsOf(fetch)) }
}

const page = (ids: ReadonlyArray<string>, next_cursor: string | null, has_more = next_cursor !== null) =>
  json({ data: ids.map((id) => ({ id })), has_more, next_cursor })

const idsOf = async (items: AsyncIterable<{ readonly id: string }>): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for await (const { id } of items) ids.push(id)
  return ids
}

describe("a list", () => {
  it("that is awaited is its first page", async () => {
    const { sent, svc } = clientOf(page(["a", "b"], "c1"))
    const { data, has_more, next_cursor } = await svc.mandates.list({ limit: 2, state: "ACTIVE" })
    assert.deepStrictEqual([data.map(({ id }) => id), has_more, next_cursor], [["a", "b"], true, "c1"])
    assert.strictEqual(sent[0]?.url.search, "?limit=2&state=ACTIVE")
  })

  it("that is iterated over gives every entry of every page, under the same filters", async () => {
    const { sent, svc } = clientOf(page(["a", "b"], "c1"), lost, page([], "c2"), page(["c"], null))
    assert.deepStrictEqual(await idsOf(svc.mandates.list({ subject_reference: "a&b" })), ["a", "b", "c"])
    assert.deepStrictEqual(
      sent.map(({ url }) => url.searchParams.get("cursor")),
      [null, "c1", "c1", "c2"]
    )
    for (const { url } of sent) assert.strictEqual(url.searchParams.get("subject_reference"), "a&b")
  })

  it("fetches no page that nobody wants", async () => {
    const { sent, svc } = clientOf(page(["a"], "c1"))
    for await (const { id } of svc.mandates.list()) {
      assert.strictEqual(id, "a")
      break
    }
    assert.lengthOf(sent, 1)
  })

  it("rejects with what a page is refused with, and never goes in circles", async () => {
    const refused = clientOf(page(["a"], "c1"), problem(400, "invalid_cursor"))
    const circle = clientOf(page(["a"], "c1"), page(["a"], "c1"))
    for (const [{ svc }, code] of [
      [refused, "invalid_cursor"],
      [circle, "unexpected_response"]
    ] as const) {
      const failure = await idsOf(svc.mandates.list()).catch((error) => error)
      assert.instanceOf(failure, SvcError)
      assert.strictEqual(failure.code, code)
    }
  })

  it("of events ends where there are no more for now, with a cursor to go on from", async () => {
    const { sent, svc } = clientOf(page(["e1"], "p1", true), page(["e2"], "p2", false), page([], "p2", false))
    const cursors: Array<string> = []
    for await (const { next_cursor } of svc.events.list({ limit: 1 }).pages()) cursors.push(next_cursor)
    assert.deepStrictEqual(cursors, ["p1", "p2"])
    assert.deepStrictEqual(await idsOf(svc.events.list({ after: "p2" })), [])
    assert.deepStrictEqual(
      sent.map(({ url }) => url.search),
      ["?limit=1", "?limit=1&after=p1", "?after=p2"]
    )
  })
})
