import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"
import { type HostAnswer, type HostIdentity, writableOf } from "./HostAnswer.ts"
import { makeHostSearch } from "./HostSearch.ts"

const writable = (
  host: string,
  cluster: string | null = "1",
  timeline: string | null = "1",
  started: string | null = "1"
): HostAnswer => {
  const identity: HostIdentity = { cluster, timeline, started }
  return { host, port: 5432, kind: "writable", identity }
}

const standby = (host: string): HostAnswer => ({
  host,
  port: 5432,
  kind: "standby",
  cluster: "1",
  follows: true
})

const chosen = (answers: ReadonlyArray<HostAnswer>, last?: string): string => {
  const result = writableOf(answers, last === undefined ? undefined : { host: last, port: 5432 })
  return Result.isSuccess(result) ? result.success.host : result.failure._tag
}

describe("the host that is used, of several", () => {
  it("is the first that takes writes, or the last one while it does", () => {
    assert.strictEqual(chosen([standby("a"), writable("b"), writable("c")]), "b")
    assert.strictEqual(chosen([standby("a"), writable("b"), writable("c")], "c"), "c")
    assert.strictEqual(chosen([standby("a"), writable("b")], "a"), "b")
    assert.strictEqual(chosen([standby("a")]), "NoWritableHost")
    assert.strictEqual(chosen([]), "NoWritableHost")
  })

  it("is none if two that take writes have different data", () => {
    assert.strictEqual(chosen([writable("a", "1", "1"), writable("b", "1", "2")]), "SeveralPrimaries")
    assert.strictEqual(chosen([writable("a", "1"), writable("b", "2")], "a"), "SeveralPrimaries")
    assert.strictEqual(chosen([writable("a", null, null), writable("b", "2")]), "a")
  })

  it("is none if two servers run on copies of one disk, and the first if one server has two names", () => {
    const told = (host: string, started: string | null) => writable(host, "1", "1", started)
    assert.strictEqual(chosen([told("a", "1"), told("b", "2")], "a"), "SeveralPrimaries")
    assert.strictEqual(chosen([told("a", "1"), told("b", "1")]), "a")
    assert.strictEqual(chosen([told("a", null), told("b", "2")]), "a")
  })
})

describe("the search for the host that takes writes", () => {
  it.live("is shared by those who come while it is under way", () =>
    Effect.gen(function* () {
      let sessions = 0
      const server = yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>>((resume) => {
          const listening = createServer((socket) => {
            sessions += 1
            socket.destroy()
          }).listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
        }),
        (listening) => Effect.sync(() => listening.close())
      )
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const search = yield* makeHostSearch({ url: Redacted.make("postgres://u@h/d") }, [
        { host: "127.0.0.1", port }
      ])
      const failures = yield* Effect.all(
        Array.from({ length: 20 }, () => Effect.flip(search.host)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(sessions, 1)
      for (const { reason } of failures)
        assert.strictEqual(reason.message, "no host of the list takes writes")
      // Whoever comes just after is told the same without another question.
      yield* Effect.flip(search.host)
      assert.strictEqual(sessions, 1)
    }).pipe(Effect.scoped)
  )
})
