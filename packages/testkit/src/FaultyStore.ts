import { MandateStore, StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Context, Effect, Layer } from "effect"

/** A call that is to fail with `StoreUnavailable`. */
export interface StoreFault {
  readonly operation: "load" | "append"
  /** Which of the calls from now on: 1 is the next. */
  readonly nth: number
  /** `before`: nothing is done. `after`: everything is done, and the result is lost. */
  readonly moment: "before" | "after"
}

/** Decides which calls of a `FaultyStore` fail. */
export class StoreFaults extends Context.Service<
  StoreFaults,
  {
    readonly plan: (fault: StoreFault) => Effect.Effect<void>
    /** Calls so far, failed ones included. */
    readonly calls: Effect.Effect<{ readonly load: number; readonly append: number }>
  }
>()("@svc/testkit/StoreFaults") {}

/**
 * Puts faults into a store: its `load` and `append` fail as planned with `StoreFaults`, and pass all else on.
 * Whatever else the given layer provides stays available.
 */
export const layer = <Provided, E, R>(
  store: Layer.Layer<Provided | MandateStore, E, R>
): Layer.Layer<Exclude<Provided, MandateStore> | MandateStore | StoreFaults, E, R> =>
  faulty.pipe(Layer.provideMerge(store)) as Layer.Layer<
    Exclude<Provided, MandateStore> | MandateStore | StoreFaults,
    E,
    R
  >

const faulty = Layer.effectContext(
  Effect.map(MandateStore, (store) => {
    const calls = { load: 0, append: 0 }
    const planned = new Map<string, StoreFault["moment"]>()
    const plan = (fault: StoreFault): void => {
      planned.set(`${fault.operation} ${calls[fault.operation] + fault.nth}`, fault.moment)
    }
    const through = <A, E>(
      operation: StoreFault["operation"],
      call: Effect.Effect<A, E>
    ): Effect.Effect<A, E | StoreUnavailable> =>
      Effect.suspend((): Effect.Effect<A, E | StoreUnavailable> => {
        calls[operation] += 1
        const moment = planned.get(`${operation} ${calls[operation]}`)
        if (moment === undefined) return call
        const lost = Effect.fail(new StoreUnavailable({ cause: `planned ${moment} the ${operation}` }))
        return moment === "before" ? lost : Effect.andThen(Effect.exit(call), lost)
      })
    return Context.make(MandateStore, {
      ...store,
      load: (query) => through("load", store.load(query)),
      append: (change) => through("append", store.append(change))
    }).pipe(
      Context.add(StoreFaults, {
        plan: (fault) => Effect.sync(() => plan(fault)),
        calls: Effect.sync(() => ({ ...calls }))
      })
    )
  })
)
