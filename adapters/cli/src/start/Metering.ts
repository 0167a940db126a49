import { SigningKeyRecords } from "@svc/domain/ports/SigningKeyRecords"
import { StoreStatistics } from "@svc/domain/ports/StoreStatistics"
import { UnsentAttempts } from "@svc/domain/workers/WebhookWorker"
import { RequestObserver } from "@svc/http-server/http/RequestObserver"
import { KeyManagementObserver } from "@svc/kms/KeyManagementObserver"
import { StoreObserver, type StoreReading } from "@svc/store-postgres/connection/StoreObserver"
import { meterRequests } from "@svc/telemetry/HttpMetrics"
import {
  countUnsentAttempts,
  meteredIdentityVerifier,
  meteredSigner,
  meteredTransport
} from "@svc/telemetry/MeteredAdapters"
import { meteredStore } from "@svc/telemetry/MeteredStore"
import { type MetricFamilies, makeMetricFamilies } from "@svc/telemetry/MetricFamilies"
import { resultOf, timed } from "@svc/telemetry/Outcome"
import { watchProcess } from "@svc/telemetry/ProcessMetrics"
import { makeServiceMetrics, type ServiceMetrics } from "@svc/telemetry/ServiceMetrics"
import { watchStore } from "@svc/telemetry/StoreGauges"
import { Context, Effect, Layer, Option } from "effect"
import type { Instruments } from "./Instruments.ts"
import * as Tracing from "./Tracing.ts"
import { version } from "./Version.ts"

const observeStore = ({ store }: ServiceMetrics): StoreObserver => {
  const gauges: Readonly<Record<StoreReading, ServiceMetrics["store"]["queueLength"]>> = {
    queued_changes: store.queueLength,
    busy_connections: store.connectionsBusy,
    awaited_connections: store.connectionsAwaited
  }
  return {
    appending: (changes) => store.batchChanges.observe(changes),
    offer: (reading, read) => gauges[reading].read(read)
  }
}

/** Each call of a key management service, by what was asked for; not which key. */
const observeKeyManagement = ({
  keyManagement: { callSeconds, calls }
}: ServiceMetrics): KeyManagementObserver => ({
  calling: (operation, call) =>
    timed(call, (exit, seconds) => {
      calls.add(1, operation, resultOf(exit))
      callSeconds.observe(seconds, operation)
    })
})

/** The gauges of the store, where the store is one that says how it is: one in memory is not. */
const watchStoreIfPossible = (metrics: ServiceMetrics): Layer.Layer<never> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const statistics = yield* Effect.serviceOption(StoreStatistics)
      const keys = yield* Effect.serviceOption(SigningKeyRecords)
      if (Option.isNone(statistics) || Option.isNone(keys)) return Layer.empty
      const ports = Context.make(StoreStatistics, statistics.value).pipe(
        Context.add(SigningKeyRecords, keys.value)
      )
      return Layer.provide(watchStore(metrics), Layer.succeedContext(ports))
    })
  )

/** Metrics of everything that goes through the ports and the listeners. */
export interface Metering extends Instruments {
  readonly families: MetricFamilies
}

/** Makes the metrics of this process and what updates them. */
export const makeMetering = (): Metering => {
  const families = makeMetricFamilies()
  const metrics = makeServiceMetrics(families)
  return {
    families,
    store: Layer.merge(meteredStore(metrics), meteredSigner(metrics)),
    identityVerifier: meteredIdentityVerifier(metrics),
    webhookTransport: meteredTransport(metrics),
    tracing: Tracing.layer,
    observers: Layer.mergeAll(
      Layer.succeed(RequestObserver)(meterRequests(metrics.http)),
      Layer.succeed(StoreObserver)(observeStore(metrics)),
      Layer.succeed(UnsentAttempts)(countUnsentAttempts(metrics)),
      Layer.succeed(KeyManagementObserver)(observeKeyManagement(metrics))
    ),
    beside: Layer.merge(watchStoreIfPossible(metrics), Layer.effectDiscard(watchProcess(families, version())))
  }
}
