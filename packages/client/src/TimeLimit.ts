/** Longest delay that a timer takes, in milliseconds; it fires at once for a longer one. */
export const TIMER_MAX_MILLISECONDS = 2 ** 31 - 1

/** Why a signal of {@link withTimeLimit} was aborted when its time was over. */
export class TimeIsOver extends Error {
  override readonly name = "TimeoutError"
}

/**
 * Runs a task under a signal that is aborted when its time is over, or with the signal given. Rejects then even if the task
 * pays no attention: with {@link TimeIsOver}, or with the reason of the signal. The task is not begun under a signal that was
 * aborted before.
 */
export const withTimeLimit = async <A>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  task: (signal: AbortSignal) => Promise<A>
): Promise<A> => {
  if (signal?.aborted) throw signal.reason
  const controller = new AbortController()
  let end: (reason: unknown) => void = () => {}
  const ended = new Promise<never>((_, reject) => {
    end = (reason) => {
      reject(reason)
      controller.abort(reason)
    }
  })
  // A task that throws before it is waited for leaves nobody who listens.
  ended.catch(() => {})
  const onAbort = () => end(signal?.reason)
  const timer = setTimeout(
    () => end(new TimeIsOver(`the ${milliseconds} ms were over`)),
    Math.min(milliseconds, TIMER_MAX_MILLISECONDS)
  )
  try {
    signal?.addEventListener("abort", onAbort, { once: true })
    return await Promise.race([ended, task(controller.signal)])
  } finally {
    clearTimeout(timer)
    // Nobody listens to what ends from here on.
    end = () => {}
    signal?.removeEventListener?.("abort", onAbort)
  }
}

/** Resolves after so many milliseconds, and rejects with the signal's reason when that is aborted before. */
export const sleep = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener?.("abort", end)
      resolve()
    }, milliseconds)
    signal?.addEventListener("abort", end, { once: true })
  })
