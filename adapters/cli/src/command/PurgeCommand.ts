import { WaitingDeliveries } from "@svc/domain/ports/WaitingDeliveries"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { Effect } from "effect"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { usageFault, validateAll } from "../start/StartFault.ts"
import { readOptions, requiredOption } from "./CommandOptions.ts"
import { Confirmation } from "./Confirmation.ts"
import { findOrganization } from "./OrganizationCommands.ts"
import type { StoreCommand } from "./StoreCommand.ts"

/** Deliveries that one statement gives up, so that it holds the endpoint for milliseconds. */
const BATCH_DELIVERIES = 500

const giveUpAll = Effect.fnUntraced(function* (
  at: { readonly organization: string; readonly endpoint: string },
  isConfirmed: boolean
) {
  const { stored } = yield* (yield* WebhookStore).loadEndpoint(at)
  if (stored === undefined) return yield* usageFault("the organization has no endpoint of that identifier")
  const port = yield* WaitingDeliveries
  const before = yield* port.count(at)
  const ask = yield* Confirmation
  const question = `Give up the deliveries to ${stored.endpoint.url} that wait (${before.waiting})?`
  if (!isConfirmed && ask !== undefined && !(yield* ask(question)))
    return { given_up: 0, waiting: before.waiting, under_way: before.underWay }
  let given_up = 0
  // What comes meanwhile is not meant.
  while (given_up < before.waiting) {
    const limit = Math.min(BATCH_DELIVERIES, before.waiting - given_up)
    const batch = yield* port.giveUp({ ...at, limit })
    if (batch === 0) break
    given_up += batch
  }
  const after = yield* port.count(at)
  return { given_up, waiting: after.waiting, under_way: after.underWay }
})

const purge: StoreCommand = {
  name: "webhook-endpoint purge",
  help: helpOf(
    `svc webhook-endpoint purge --organization <id> --endpoint <id>: gives up the deliveries that wait for a webhook endpoint, frozen
ones too. They are then exhausted, as after their last attempt, and can be delivered again (svc webhook-endpoint redeliver). An
attempt under way is left to its end ("under_way"), and the endpoint and its counters stay as they are. Disable or delete the endpoint first if no
more are to come.

  --yes   gives them up without asking; required where there is no terminal to ask at

Example: svc webhook-endpoint purge --organization org_... --endpoint whe_... --yes`,
    SETTINGS_OF.store
  ),
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions({ organization: "one", endpoint: "one", yes: "flag" }, words)
    const at = yield* validateAll({
      organization: requiredOption(options.organization, "organization"),
      endpoint: requiredOption(options.endpoint, "endpoint")
    })
    if (!options.yes && (yield* Confirmation) === undefined)
      return yield* usageFault("--yes is missing, and there is no terminal to ask at")
    return Effect.as(findOrganization(at.organization), {
      organization: at.organization,
      act: giveUpAll(at, options.yes)
    })
  })
}

export const purgeCommands: ReadonlyArray<StoreCommand> = [purge]
