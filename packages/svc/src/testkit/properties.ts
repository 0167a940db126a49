/* What draws random cases with fast-check, which whoever uses it installs beside svc. */

import * as ConcurrentCallers from "@svc/testkit/ConcurrentCallers"
import * as LifecycleCommands from "@svc/testkit/LifecycleCommands"
import * as Property from "@svc/testkit/LifecycleProperty"
import type { ClosableTarget, LifecycleTarget } from "@svc/testkit/LifecycleTarget"
import { ServiceParts } from "../Service.ts"
import type { TestService } from "./TestService.ts"

export {
  type MandateShape,
  mandateShapes,
  type ProposalShape,
  proposalShapes
} from "@svc/testkit/Arbitraries"
export type { LinearizabilityOptions, LinearizabilityStatistics } from "@svc/testkit/ConcurrentCallers"
export type { LifecycleCommand, LifecycleModel, LifecycleRun } from "@svc/testkit/LifecycleCommands"
export type {
  InspectedMandate,
  Invariant,
  LifecycleOptions,
  LifecycleStatistics
} from "@svc/testkit/LifecycleProperty"
export type { ClosableTarget, LifecycleTarget } from "@svc/testkit/LifecycleTarget"
export {
  type ArbitraryOptions,
  type CallerStep,
  type ClockTime,
  callerSteps,
  clockTimes,
  type InvalidInput,
  invalidMandateInputs,
  mandateFaults,
  mandateInputs,
  policyInputs,
  proposalInputs,
  proposedActions
} from "@svc/testkit/ResourceArbitraries"

/**
 * The steps and the model of `checkLifecycle`, for steps of one's own.
 *
 * @example
 * ```ts
 * import * as fc from "fast-check"
 * import { testService } from "svc/testkit"
 * import { checkLifecycle, type LifecycleCommand, lifecycle } from "svc/testkit/properties"
 *
 * const listed: LifecycleCommand = {
 *   check: ({ mandates }) => mandates.length > 0,
 *   run: async ({ mandates }, run) => {
 *     const { body } = await run.call("GET", "/v1/mandates?limit=100")
 *     if (body.data.length !== mandates.length) throw new Error("a mandate is not listed")
 *   },
 *   toString: () => "list"
 * }
 * const commands = [...lifecycle.commands(), fc.constant(listed)]
 * await checkLifecycle(() => testService(), { commands })
 * ```
 */
export const lifecycle = { ...LifecycleCommands, model: Property.model }

/** What is tested: the API of any deployment, or what a function makes for each run anew. */
export type TestTarget = LifecycleTarget | (() => Promise<TestService | ClosableTarget>)

const isService = (made: TestService | ClosableTarget): made is TestService =>
  typeof Object(made).createApiKey === "function"

/** The API of a test service, with its clock and its end users; any other target as it is. */
const targetOf = async (service: TestService | ClosableTarget): Promise<ClosableTarget> => {
  if (!isService(service)) return service
  const { key } = await service.createApiKey(service.organization)
  return {
    url: service[ServiceParts].baseUrl,
    apiKey: key,
    fetch: service.fetch,
    approve: (mandate: { readonly id: string }) => service.approve(mandate),
    clock: service.clock,
    close: service.close
  }
}

/**
 * Runs random lives of mandates against a service, and holds every answer against a model of the interface and a recount of
 * the journals: a test service, made anew for each run, or the API of any deployment of the test environment. Rejects with the
 * shortest history that was found to fail, in words, its seed, and the command that runs it again.
 *
 * @example
 * ```ts
 * import { testService } from "svc/testkit"
 * import { checkLifecycle } from "svc/testkit/properties"
 *
 * const { transitions } = await checkLifecycle(() => testService(), { numRuns: 50 })
 * ```
 */
export const checkLifecycle = (
  target: TestTarget,
  options?: Property.LifecycleOptions
): Promise<Property.LifecycleStatistics> =>
  Property.checkLifecycle(
    typeof target === "function" ? async () => targetOf(await target()) : target,
    options,
    target
  )

/**
 * Lets several callers act on one mandate at once, many times, and checks that every answer is that of some order in which the
 * requests took effect one by one. The target is a function that makes a test service, for each run anew, or the API of any
 * deployment of the test environment, or any handler of requests (`fetch`). Rejects with the history in words, the answers that
 * cannot all be true, the seed, and the command that runs it again.
 *
 * @example
 * ```ts
 * import { testService } from "svc/testkit"
 * import { checkLinearizability } from "svc/testkit/properties"
 *
 * const { answers } = await checkLinearizability(() => testService({ webhooks: false }), { numRuns: 10 })
 * ```
 */
export const checkLinearizability = (
  target: TestTarget,
  options?: ConcurrentCallers.LinearizabilityOptions
): Promise<ConcurrentCallers.LinearizabilityStatistics> =>
  ConcurrentCallers.checkLinearizability(
    typeof target === "function" ? async () => targetOf(await target()) : target,
    options,
    target
  )
