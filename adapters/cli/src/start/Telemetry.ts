import { Effect, Layer } from "effect"
import { type Instruments, NO_INSTRUMENTS } from "./Instruments.ts"

/** What of the configuration says whether and where a process is observed. */
export interface TelemetryConfig {
  /** Port of the listener for metrics. Absent: nothing is measured. */
  readonly metricsPort?: number | undefined
  readonly host: string | undefined
}

/** What observes a process that is configured so. Only what is asked for is loaded. */
export const instrumentsOf = ({ host, metricsPort }: TelemetryConfig): Effect.Effect<Instruments> =>
  Effect.gen(function* () {
    if (metricsPort === undefined) return NO_INSTRUMENTS
    const [{ makeMetering }, { metricsListener }] = yield* Effect.promise(() =>
      Promise.all([import("./Metering.ts"), import("./MetricsListener.ts")])
    )
    const metering = makeMetering()
    const listener = metricsListener({ port: metricsPort, host }, metering.families)
    return { ...metering, beside: Layer.merge(metering.beside, Layer.effectDiscard(Layer.build(listener))) }
  })
