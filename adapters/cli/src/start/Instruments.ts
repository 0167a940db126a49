import type { IdentityVerifier } from "@svc/domain/ports/IdentityVerifier"
import type { Signer } from "@svc/domain/ports/Signer"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import type { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import type { StoreHealth } from "@svc/domain/ports/StoreHealth"
import type { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import { Effect, Layer } from "effect"
import * as Tracing from "./Tracing.ts"

/** A layer that replaces ports by the same ports, with something measured of each call. */
type Replacing<Ports> = Layer.Layer<Ports, never, Ports>

/** The ports of the store whose calls are observed, and the signer. */
export type ObservedPorts = Exclude<StoragePorts, StoreHealth | StoreCleaning> | Signer

/** What observes a running process. The composition root puts it around the ports. */
export interface Instruments {
  readonly store: Replacing<ObservedPorts>
  readonly identityVerifier: Replacing<IdentityVerifier>
  readonly webhookTransport: Replacing<WebhookTransport>
  /** The tracer of everything. */
  readonly tracing: Layer.Layer<never>
  /** What the layers of the store and the listeners report to. */
  readonly observers: Layer.Layer<never>
  /** Runs beside the service, such as the listener for metrics. */
  readonly beside: Layer.Layer<never, unknown, StoragePorts>
}

const unchanged = <Ports>(): Replacing<Ports> => Layer.effectContext(Effect.context<Ports>())

/** Nothing is observed, and nothing is paid for it. */
export const NO_INSTRUMENTS: Instruments = {
  store: unchanged(),
  identityVerifier: unchanged(),
  webhookTransport: unchanged(),
  tracing: Tracing.layer,
  observers: Layer.empty,
  beside: Layer.empty
}
