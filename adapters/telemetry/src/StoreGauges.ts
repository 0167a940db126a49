import { SigningKeyRecords, signingKeyAt } from "@svc/domain/ports/SigningKeyRecords"
import { StoreStatistics } from "@svc/domain/ports/StoreStatistics"
import { NANOS_PER_SECOND, type Nanos } from "@svc/protocol/Timestamp"
import { Effect, Layer } from "effect"
import { resultOf } from "./Outcome.ts"
import type { ServiceMetrics } from "./ServiceMetrics.ts"

/** How often the state of the store is read, by each process: as often as Prometheus usually scrapes. */
export const READ_EVERY = "15 seconds"

const secondsOf = (nanos: Nanos): number => Number(nanos) / Number(NANOS_PER_SECOND)

/** Reads what describes the whole store into the gauges. What cannot be read is removed rather than shown as it once was. */
export const readStoreGauges = ({
  security: { signingKeyAge },
  webhooks,
  workers
}: ServiceMetrics): Effect.Effect<void, never, StoreStatistics | SigningKeyRecords> => {
  const gauges = [webhooks.lag, webhooks.waiting, webhooks.disabled, workers.dueLag, signingKeyAge]
  const read = Effect.gen(function* () {
    const state = yield* (yield* StoreStatistics).state
    const { keys, now } = yield* (yield* SigningKeyRecords).list
    workers.dueLag.set(secondsOf(state.dueLag))
    webhooks.lag.set(secondsOf(state.webhookLag))
    webhooks.waiting.set(state.dueDeliveries)
    webhooks.disabled.set(state.disabledEndpoints)
    const current = signingKeyAt(keys, now)
    if (current === undefined) return signingKeyAge.remove()
    const { createdAt, signsFrom = 0n } = current
    // The first key of a deployment signs from 0, the beginning of time.
    signingKeyAge.set(secondsOf(now - (signsFrom === 0n ? createdAt : signsFrom)))
  })
  return Effect.flatMap(Effect.exit(read), (exit) =>
    Effect.suspend(() => {
      workers.statistics.add(1, resultOf(exit))
      if (exit._tag === "Success") return Effect.void
      for (const gauge of gauges) gauge.remove()
      return Effect.logDebug("the state of the store cannot be read for its metrics", exit.cause)
    })
  )
}

/** Reads the state of the store now and then, in the background, until the layer closes. */
export const watchStore = (
  metrics: ServiceMetrics
): Layer.Layer<never, never, StoreStatistics | SigningKeyRecords> =>
  Layer.effectDiscard(
    Effect.forkScoped(Effect.forever(Effect.andThen(readStoreGauges(metrics), Effect.sleep(READ_EVERY))))
  )
