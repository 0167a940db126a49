/** Whether a value is a promise, of whatever implementation: those of query builders and of other realms are no `Promise`. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  ((typeof value === "object" && value !== null) || typeof value === "function") &&
  "then" in value &&
  typeof value.then === "function"

/** Has somebody notice that a promise rejects, if it is one: nobody waits for it. A rejection would otherwise end the process. */
export const unawaited = (value: unknown, onRejected: (reason: unknown) => void): void => {
  if (isThenable(value)) Promise.resolve(value).catch(onRejected)
}
