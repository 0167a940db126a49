import type { OtlpTracesOptions } from "@svc/telemetry/OtlpTraces"
import { Effect, Layer } from "effect"
import { type Instruments, NO_INSTRUMENTS } from "./Instruments.ts"

/** What of the configuration says whether and how a process is observed. */
export interface TelemetryConfig {
  /** Port of the listener for metrics. Absent: nothing is measured. */
  readonly metricsPort?: number | undefined
  readonly host: string | undefined
  /** Absent: there are no spans. */
  readonly traces?: OtlpTracesOptions | undefined
}

const withMetrics = Effect.fnUntraced(function* (port: number, host: string | undefined) {
  const [{ makeMetering }, { metricsListener }] = yield* Effect.promise(() =>
    Promise.all([import("./Metering.ts"), import("./MetricsListener.ts")])
  )
  const metering = makeMetering()
  const listener = Layer.effectDiscard(Layer.build(metricsListener({ port, host }, metering.families)))
  return { ...metering, beside: Layer.merge(metering.beside, listener) }
})

/** What observes a process that is configured so. Only what is asked for is loaded. */
export const instrumentsOf = ({ host, metricsPort, traces }: TelemetryConfig): Effect.Effect<Instruments> =>
  Effect.gen(function* () {
    const metered = metricsPort === undefined ? NO_INSTRUMENTS : yield* withMetrics(metricsPort, host)
    if (traces === undefined) return metered
    const { withTraces } = yield* Effect.promise(() => import("./Traces.ts"))
    return withTraces(metered, traces)
  })
