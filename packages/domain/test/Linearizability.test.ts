import { assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import {
  type ClientOperation,
  checkLinearizability,
  interleavedStore,
  isLinearizable,
  observeHistory
} from "@svc/testkit/Linearizability"
import { Effect, Layer } from "effect"
import { memoryPrograms } from "./MemoryPrograms.ts"
import { LONG, runSettings } from "./RunSettings.ts"

/** Rounds of histories until commands were combined in one. */
const MOST_ROUNDS = 20

const { replay, ...settings } = runSettings(60)

/** Counts the appends that bind several idempotency keys, and so record several commands. */
const countingStore = (count: { combined: number }) =>
  Layer.effect(
    MandateStore,
    Effect.map(MandateStore, (store) => ({
      ...store,
      append: (change) => {
        const keys = change.claims.filter(({ kind }) => kind === "idempotency_key")
        return Effect.tap(store.append(change), () =>
          Effect.sync(() => {
            if (keys.length > 1) count.combined += 1
          })
        )
      }
    }))
  ).pipe(Layer.provideMerge(MemoryStore.layer))

describe("histories of three clients on one mandate", () => {
  for (const processes of ["each", 1, 2] as const) {
    it(
      `are linearizable, processes: ${processes} (${replay})`,
      async () => {
        const count = { combined: 0 }
        const ports = (pauses: () => number) =>
          Layer.merge(
            memoryPrograms(settings.seed),
            interleavedStore(Layer.fresh(countingStore(count)), pauses, processes)
          )
        await checkLinearizability({ ports, ...settings })
        if (processes === "each") assert.strictEqual(count.combined, 0)
        // Each of two processes has a line of its own, so a round may pass in which none had two commands.
        for (let more = 1; processes !== "each" && count.combined === 0; more++) {
          assert.isBelow(more, MOST_ROUNDS)
          await checkLinearizability({ ports, ...settings, seed: settings.seed + more })
        }
      },
      LONG
    )
  }
})

describe("the checker", () => {
  const commit: ClientOperation = { kind: "commit", number: 1, variant: 0, key: "a" }
  const cancel: ClientOperation = { kind: "cancel", number: 1, key: "b" }
  const look: ClientOperation = { kind: "look", number: 1 }

  it.effect("accepts what happened one after the other, and refuses it told otherwise", () =>
    Effect.gen(function* () {
      const { history, initial } = yield* observeHistory([[look, commit, look, cancel]])
      assert.isTrue(isLinearizable(initial, history))
      const [before, committed, after, refused] = history
      if (!before || !committed || !after || !refused) throw new Error("the history is too short")
      assert.strictEqual(refused.output, "TerminalStateConflict COMMITTED")
      const swapped = [
        { ...before, output: after.output },
        committed,
        { ...after, output: before.output },
        refused
      ]
      assert.isFalse(isLinearizable(initial, swapped))
      assert.isFalse(
        isLinearizable(initial, [{ ...before, output: after.output }, committed, after, refused])
      )
      assert.isFalse(
        isLinearizable(initial, [before, committed, { ...after, output: before.output }, refused])
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("lets what overlapped have happened in either order", () =>
    Effect.gen(function* () {
      const { history, initial } = yield* observeHistory([[look, commit, look]])
      const [before, committed, after] = history
      if (!before || !committed || !after) throw new Error("the history is too short")
      assert.isTrue(isLinearizable(initial, [committed, { ...after, invoked: committed.invoked }]))
      const early = before.output
      const overlapping = {
        operation: look,
        invoked: committed.invoked,
        answered: committed.answered,
        output: early
      }
      assert.isTrue(isLinearizable(initial, [committed, overlapping, after]))
      const later = { ...overlapping, invoked: after.answered + 1, answered: after.answered + 2 }
      assert.isFalse(isLinearizable(initial, [committed, after, later]))
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
