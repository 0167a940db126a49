/** Whether a value is a promise, of whatever implementation: those of query builders and of other realms are no `Promise`. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  ((typeof value === "object" && value !== null) || typeof value === "function") &&
  "then" in value &&
  typeof value.then === "function"
