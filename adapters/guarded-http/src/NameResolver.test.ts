import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { type NameAnswer, nameServer, type RecordType } from "../test/NameServer.ts"
import { dnsResolve, ResolutionFailed } from "./NameResolver.ts"

const resolveWith = (answers: Readonly<Record<RecordType, NameAnswer>>) =>
  Effect.gen(function* () {
    const server = yield* nameServer(({ type }) => answers[type])
    const result = yield* dnsResolve({ servers: [server.address] })("hooks.example").pipe(
      Effect.catch((failure) => Effect.succeed(failure instanceof ResolutionFailed ? "failed" : "defect"))
    )
    assert.isTrue(server.questions.every(({ name }) => name === "hooks.example"))
    return result
  })

const V4 = "93.184.215.14"
const V6 = "2606:2800::1"

describe("dnsResolve", () => {
  const rows: ReadonlyArray<readonly [string, NameAnswer, NameAnswer, ReadonlyArray<string> | "failed"]> = [
    ["both families", [V4, "10.0.0.1"], [V6, "::1"], [V4, "10.0.0.1", V6, "::1"]],
    ["IPv4 alone", [V4], [], [V4]],
    ["IPv6 alone", [], [V6], [V6]],
    ["IPv6 alone, the other unknown", "NXDOMAIN", [V6], [V6]],
    ["mapped addresses, as they are", [], ["0:0:0:0:0:ffff:7f00:1"], ["::ffff:127.0.0.1"]],
    ["no such name", "NXDOMAIN", "NXDOMAIN", []],
    ["no address", [], [], []],
    ["a failing server", "SERVFAIL", "SERVFAIL", "failed"],
    ["one family failing, the other absent", "SERVFAIL", [], "failed"],
    ["one family failing, the other there", "SERVFAIL", [V6], [V6]]
  ]
  for (const [title, A, AAAA, expected] of rows) {
    it.live(title, () =>
      Effect.map(resolveWith({ A, AAAA }), (result) => assert.deepStrictEqual(result, expected))
    )
  }

  it.live("asks no more when it is interrupted", () =>
    Effect.gen(function* () {
      const server = yield* nameServer(() => "silence")
      const fiber = yield* Effect.forkChild(dnsResolve({ servers: [server.address] })("hooks.example"))
      while (server.questions.length < 2) yield* Effect.sleep(5)
      yield* Fiber.interrupt(fiber)
      yield* Effect.sleep(20)
      assert.strictEqual(server.questions.length, 2)
    })
  )
})
