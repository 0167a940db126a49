import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EventFeed } from "@svc/domain/ports/EventFeed"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { Context, Effect, Exit, Layer } from "effect"
import { resultOf, timed } from "./Outcome.ts"
import { countRecorded } from "./RecordedChange.ts"
import type { ServiceMetrics } from "./ServiceMetrics.ts"

/** The ports of the store whose calls are measured. */
export type MeteredPorts = MandateStore | EventFeed | SubjectStore | Organizations | DueLeases | WebhookStore

type Operation = (...input: ReadonlyArray<never>) => Effect.Effect<unknown, unknown, unknown>

/** A port whose operations are counted and timed. */
const metered = <Port extends object>(
  port: string,
  service: Port,
  { operations, operationSeconds }: ServiceMetrics["store"]
): Port =>
  Object.fromEntries(
    Object.entries(service).map(([operation, run]: [string, Operation]) => [
      operation,
      (...input: ReadonlyArray<never>) =>
        timed(run(...input), (exit, seconds) => {
          operations.add(1, port, operation, resultOf(exit))
          operationSeconds.observe(seconds, port, operation)
        })
    ])
  ) as Port

/** The same ports of the store, with every call measured, and what appends record counted. */
export const meteredStore = ({
  decisions,
  store
}: ServiceMetrics): Layer.Layer<MeteredPorts, never, MeteredPorts> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const mandates = metered("MandateStore", yield* MandateStore, store)
      return Context.empty().pipe(
        Context.add(MandateStore, {
          ...mandates,
          append: (change) =>
            Effect.onExit(mandates.append(change), (exit) =>
              Exit.isSuccess(exit) ? Effect.sync(() => countRecorded(decisions, change)) : Effect.void
            )
        }),
        Context.add(EventFeed, metered("EventFeed", yield* EventFeed, store)),
        Context.add(SubjectStore, metered("SubjectStore", yield* SubjectStore, store)),
        Context.add(Organizations, metered("Organizations", yield* Organizations, store)),
        Context.add(DueLeases, metered("DueLeases", yield* DueLeases, store)),
        Context.add(WebhookStore, metered("WebhookStore", yield* WebhookStore, store))
      )
    })
  )
