import { assert, describe, it, vi } from "@effect/vitest"
import { sleep, TIMER_MAX_MILLISECONDS, TimeIsOver, withTimeLimit } from "./TimeLimit.ts"

const outcomeOf = (work: Promise<unknown>): Promise<unknown> => work.catch((cause: unknown) => cause)

const never = () => new Promise<never>(() => {})

/** A signal of another implementation, which was aborted before anybody listened: it has no event left to give. */
const abortedBefore = (reason: unknown): AbortSignal =>
  ({ aborted: true, reason, addEventListener: () => undefined }) as unknown as AbortSignal

/** How many listen to a signal. */
const listening = () => {
  const { signal } = new AbortController()
  const added = vi.spyOn(signal, "addEventListener")
  const removed = vi.spyOn(signal, "removeEventListener")
  return { signal, left: () => added.mock.calls.length - removed.mock.calls.length }
}

describe("withTimeLimit", () => {
  it("gives what the task gives, its failure too, and listens to nothing afterwards", async () => {
    const { left, signal } = listening()
    assert.strictEqual(await withTimeLimit(TIMER_MAX_MILLISECONDS, signal, async () => "done"), "done")
    const failed = new Error("the task failed")
    const thrown = () => {
      throw failed
    }
    for (const task of [() => Promise.reject(failed), thrown])
      assert.strictEqual(await outcomeOf(withTimeLimit(TIMER_MAX_MILLISECONDS, signal, task)), failed)
    assert.strictEqual(left(), 0)
  })

  it("ends a task that pays no attention when its time is over, and tells it why", async () => {
    let given: AbortSignal | undefined
    const late = await outcomeOf(
      withTimeLimit(1, undefined, (limit) => {
        given = limit
        return never()
      })
    )
    assert.instanceOf(late, TimeIsOver)
    assert.strictEqual(given?.reason, late)
  })

  it("ends with the reason of the signal, whether that is an error or not", async () => {
    for (const reason of [new Error("the user left"), "left", 0]) {
      const controller = new AbortController()
      let given: AbortSignal | undefined
      const ended = outcomeOf(
        withTimeLimit(TIMER_MAX_MILLISECONDS, controller.signal, (limit) => {
          given = limit
          return never()
        })
      )
      controller.abort(reason)
      assert.strictEqual(await ended, reason)
      assert.strictEqual(given?.reason, reason)
    }
  })

  it("begins nothing under a signal that was aborted before, though it gives no event", async () => {
    const reason = new Error("the user left")
    let begun = 0
    const task = () => {
      begun += 1
      return never()
    }
    for (const signal of [AbortSignal.abort(reason), abortedBefore(reason)])
      assert.strictEqual(await outcomeOf(withTimeLimit(TIMER_MAX_MILLISECONDS, signal, task)), reason)
    assert.strictEqual(begun, 0)
  })

  it("leaves no rejection to the process when a task aborts its own signal and throws", async () => {
    const controller = new AbortController()
    const failed = new Error("the task failed")
    const unhandled: Array<unknown> = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on("unhandledRejection", note)
    const ended = await outcomeOf(
      withTimeLimit(TIMER_MAX_MILLISECONDS, controller.signal, () => {
        controller.abort(new Error("the user left"))
        throw failed
      })
    )
    await new Promise((resolve) => setTimeout(resolve))
    process.off("unhandledRejection", note)
    assert.strictEqual(ended, failed)
    assert.deepStrictEqual(unhandled, [])
  })
})

describe("sleep", () => {
  it("ends with its signal, also with one that was aborted before, and listens to nothing afterwards", async () => {
    const reason = new Error("the user left")
    const controller = new AbortController()
    const sleeping = outcomeOf(sleep(TIMER_MAX_MILLISECONDS, controller.signal))
    controller.abort(reason)
    assert.strictEqual(await sleeping, reason)
    assert.strictEqual(await outcomeOf(sleep(TIMER_MAX_MILLISECONDS, abortedBefore(reason))), reason)
    const { left, signal } = listening()
    await sleep(0, signal)
    assert.strictEqual(left(), 0)
  })
})
