import { assert, describe, it } from "@effect/vitest"
import { StoreStatistics } from "@svc/domain/ports/StoreStatistics"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { recordDue } from "@svc/testkit/store-contract/DueContract"
import { addWaiting, alter, disabledSince, register } from "@svc/testkit/store-contract/WebhooksUnderTest"
import { Effect } from "effect"
import { preparedStore } from "../../test/PreparedPglite.ts"

const MINUTE = 60n * NANOS_PER_SECOND

const state = Effect.flatMap(StoreStatistics, (statistics) => statistics.state)

describe("the state of the store", () => {
  it.live("says how far it is behind, over all organizations", () =>
    Effect.gen(function* () {
      const { now, ...atFirst } = yield* state
      assert.deepStrictEqual(atFirst, {
        dueLag: 0n,
        webhookLag: 0n,
        dueDeliveries: 0,
        disabledEndpoints: 0
      })

      yield* recordDue(newIdentifier("org_"), (instant) => instant - 2n * MINUTE)
      yield* recordDue(newIdentifier("org_"), (instant) => instant - MINUTE)
      yield* recordDue(newIdentifier("org_"), (instant) => instant + MINUTE)
      const endpoint = yield* register(newIdentifier("org_"))
      const other = yield* register(newIdentifier("org_"))
      yield* addWaiting(endpoint, (instant) => instant - 5n * MINUTE)
      yield* addWaiting(other, (instant) => instant - 3n * MINUTE)
      yield* addWaiting(other, (instant) => instant + 60n * MINUTE)
      const behind = yield* state
      const passed = behind.now - now
      assert.isTrue(behind.dueLag >= 2n * MINUTE && behind.dueLag <= 2n * MINUTE + passed)
      assert.isTrue(behind.webhookLag >= 5n * MINUTE && behind.webhookLag <= 5n * MINUTE + passed)
      assert.strictEqual(behind.disabledEndpoints, 0)

      yield* alter(endpoint, disabledSince(now))
      const disabled = yield* state
      const since = disabled.now - now
      assert.strictEqual(disabled.disabledEndpoints, 1)
      assert.isTrue(disabled.webhookLag >= 3n * MINUTE && disabled.webhookLag <= 3n * MINUTE + since)
    }).pipe(Effect.scoped, Effect.provide(preparedStore))
  )
})
