import { assert, describe, it } from "@effect/vitest"
import { TargetRefused } from "@svc/domain/ports/WebhookTransport"
import { Effect } from "effect"
import { silentReceiver } from "../test/HostileReceiver.ts"
import { connectTo, pinnedLookup } from "./GuardedConnection.ts"

describe("connectTo", () => {
  it.live("sends nothing to an address that is not permitted, however it got there", () =>
    Effect.gen(function* () {
      const receiver = yield* silentReceiver()
      const seen: Array<string> = []
      const refused = yield* connectTo(
        {
          url: new URL(`https://hooks.example:${receiver.port}/`),
          addresses: ["127.0.0.1"],
          isPermitted: (address) => {
            seen.push(address)
            return false
          }
        },
        undefined
      ).pipe(Effect.scoped, Effect.flip)
      assert.instanceOf(refused, TargetRefused)
      assert.deepStrictEqual(seen, ["127.0.0.1"])
      while (receiver.seen.open > 0) yield* Effect.sleep(5)
      assert.strictEqual(receiver.seen.bytes, 0)
    })
  )

  it.live("looks at the other end of a literal address too, for which no look-up is made", () =>
    Effect.gen(function* () {
      const receiver = yield* silentReceiver()
      const refused = yield* connectTo(
        {
          url: new URL(`http://127.0.0.1:${receiver.port}/`),
          addresses: ["127.0.0.9"],
          isPermitted: (address) => address === "127.0.0.9"
        },
        undefined
      ).pipe(Effect.scoped, Effect.flip)
      assert.instanceOf(refused, TargetRefused)
    })
  )
})

describe("pinnedLookup", () => {
  const lookup = pinnedLookup(["127.0.0.1", "::1"])
  const asked = (all: boolean) =>
    new Promise((resolve) => lookup("hooks.example", { all }, (...answer) => resolve(answer)))

  it("answers all of the addresses, or the first", async () => {
    assert.deepStrictEqual(await asked(true), [
      null,
      [
        { address: "127.0.0.1", family: 4 },
        { address: "::1", family: 6 }
      ]
    ])
    assert.deepStrictEqual(await asked(false), [null, "127.0.0.1", 4])
  })
})
