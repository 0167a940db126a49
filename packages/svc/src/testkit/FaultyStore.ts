import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { PromiseStore } from "../PromiseStore.ts"

/** A call of a store. */
export interface StoreCall {
  /** The part of the store, such as `mandates`. */
  readonly part: keyof PromiseStore
  /** The operation, such as `append`. */
  readonly operation: string
  /** How many calls of the operation there have been, this one included. */
  readonly count: number
}

/** `before`: nothing is done. `after`: everything is done, and the answer is lost. */
export type StoreFault = "before" | "after"

/**
 * The same store, whose calls fail with `StoreUnavailable` where `faultOf` says so: how a service behaves when its database is
 * gone for a moment, and when it has recorded what it could not confirm.
 *
 * @example
 * ```ts
 * import { withFaults } from "svc/testkit"
 *
 * const store = withFaults(makeMapStore(now), ({ operation, count }) =>
 *   operation === "append" && count === 3 ? "after" : undefined
 * )
 * ```
 */
export const withFaults = <Given extends Partial<PromiseStore>>(
  store: Given,
  faultOf: (call: StoreCall) => StoreFault | undefined
): Given => {
  const counts = new Map<string, number>()
  const failing = (part: keyof PromiseStore, operations: object): object =>
    new Proxy(operations, {
      get: (target, operation) => {
        const original = Reflect.get(target, operation) as unknown
        if (typeof original !== "function" || typeof operation !== "string") return original
        return async (...input: ReadonlyArray<unknown>): Promise<unknown> => {
          const name = `${part}.${operation}`
          const count = (counts.get(name) ?? 0) + 1
          counts.set(name, count)
          const fault = faultOf({ part, operation, count })
          const lost = () => new StoreUnavailable({ cause: `${fault} the ${count}. call of ${name}` })
          if (fault === "before") throw lost()
          const result: unknown = await original.apply(target, input)
          if (fault === "after") throw lost()
          return result
        }
      }
    })
  return Object.fromEntries(
    Object.entries(store).map(([part, operations]) => [part, failing(part as keyof PromiseStore, operations)])
  ) as Given
}
