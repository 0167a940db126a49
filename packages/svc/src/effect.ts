import type { Layer } from "effect"
import type { ServiceOptions } from "./ServiceOptions.ts"
import { type Services, servicesOf } from "./ServiceRuntime.ts"
import { settingsOf } from "./ServiceSettings.ts"

/* The face for programs in Effect: the services that the use cases ask for, and the use cases. */

export { Deployment } from "@svc/domain/ports/Deployment"
export { MandateStore, StoreUnavailable } from "@svc/domain/ports/MandateStore"
export { Organizations } from "@svc/domain/ports/Organizations"
export { Signer } from "@svc/domain/ports/Signer"
export { WebhookStore } from "@svc/domain/ports/WebhookStore"
export * from "@svc/domain/programs/ApprovalSessions"
export * from "@svc/domain/programs/Authorizations"
export * from "@svc/domain/programs/EventFeed"
export * from "@svc/domain/programs/Evidence"
export * from "@svc/domain/programs/Mandates"
export * from "@svc/domain/programs/Passkeys"
export * from "@svc/domain/programs/WebhookDeliveries"
export * from "@svc/domain/programs/WebhookEndpoints"
export * as Refusals from "@svc/domain/Refusals"
export type { Services } from "./ServiceRuntime.ts"

/**
 * Everything that the use cases need, as the options of `createService` say, with the workers in the background. Throws a
 * `TypeError` that says what is wrong with the options.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { layer, readMandate } from "svc/effect"
 * import { memory } from "svc/memory"
 *
 * const services = layer({
 *   environment: "test",
 *   baseUrl: "http://localhost:3000/mandates",
 *   approvalUrl: "http://localhost:3000/approvals",
 *   store: memory()
 * })
 * const program = readMandate({ organization: "org_...", mandateId: "mnd_..." })
 * Effect.runPromise(Effect.provide(program, services))
 * ```
 */
export const layer = (options: ServiceOptions): Layer.Layer<Services, unknown> =>
  servicesOf(settingsOf(options))
