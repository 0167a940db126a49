import type { Organization } from "@svc/domain/organization/Organization"
import { Deployment } from "@svc/domain/ports/Deployment"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { redeliverWebhook } from "@svc/domain/programs/WebhookDeliveries"
import type { WebhookDeliveryState } from "@svc/domain/webhook/WebhookDelivery"
import { type Instant, NANOS_PER_SECOND, parseTimestamp } from "@svc/protocol/Timestamp"
import { TEST_EVENT_TYPE } from "@svc/protocol/webhook/WebhookBody"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import { Effect } from "effect"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { usageFault, validateAll } from "../start/StartFault.ts"
import { oneOf, readOptions, requiredOption } from "./CommandOptions.ts"
import { findOrganization } from "./OrganizationCommands.ts"
import type { StoreCommand } from "./StoreCommand.ts"
import { faultOfRefusal } from "./SupportCommands.ts"

/** Deliveries that one run makes at most. */
export const MAX_REDELIVERIES = 10_000

/** Deliveries that are read at a time. */
const PAGE_DELIVERIES = 500

/** Identifiers carry when an event occurred, which may be this long before its delivery was recorded. */
const RECORDING_SECONDS = 60n

/** Which deliveries are delivered again: those that ended so. */
export const REDELIVERED_STATES = ["exhausted", "delivered", "ended"] as const

interface Wanted {
  readonly organization: Organization
  readonly endpoint: string
  readonly since: Instant
  readonly state: (typeof REDELIVERED_STATES)[number]
}

const isWanted = (delivery: WebhookDeliveryState, { since, state }: Wanted): boolean =>
  delivery.createdAt >= since &&
  delivery.eventType !== TEST_EVENT_TYPE &&
  (state === "ended" ? delivery.state !== "pending" : delivery.state === state)

/** The wanted deliveries, newest first. */
const wantedDeliveries = Effect.fnUntraced(function* (wanted: Wanted) {
  const store = yield* WebhookStore
  const found: Array<WebhookDeliveryState> = []
  let after: string | undefined
  for (;;) {
    const { deliveries, stored } = yield* store.listDeliveries({
      organization: wanted.organization.id,
      endpoint: wanted.endpoint,
      limit: PAGE_DELIVERIES,
      ...(after === undefined ? {} : { after })
    })
    if (stored === undefined) return yield* usageFault("the organization has no endpoint of that identifier")
    const page = deliveries.slice(0, PAGE_DELIVERIES)
    found.push(...page.filter((delivery) => isWanted(delivery, wanted)))
    const last = page.at(-1)
    const isOlder = last !== undefined && last.createdAt < wanted.since - RECORDING_SECONDS * NANOS_PER_SECOND
    if (last === undefined || isOlder || deliveries.length <= PAGE_DELIVERIES) return found
    after = last.id
  }
})

/** What the programs of commands ask of a deployment: only its environment, since they make no address. */
export const deploymentOf = ({ environment }: Organization): Deployment["Service"] => ({
  environment,
  baseUrl: "",
  approvalBaseUrl: "",
  approvalOrigin: "",
  rpId: "",
  localhostReturnOrigins: false
})

const redeliverAll = Effect.fnUntraced(function* (wanted: Wanted) {
  const all = (yield* wantedDeliveries(wanted)).toReversed()
  const counts = { redelivered: 0, redelivered_before: 0, left: Math.max(0, all.length - MAX_REDELIVERIES) }
  for (const { id } of all.slice(0, MAX_REDELIVERIES)) {
    // The key makes a second run skip what the first one made.
    const { replayed } = yield* redeliverWebhook({
      organization: wanted.organization,
      idempotencyKey: `svc-redeliver-${id}`,
      body: {},
      endpointId: wanted.endpoint,
      deliveryId: id
    }).pipe(Effect.mapError(faultOfRefusal))
    counts[replayed ? "redelivered_before" : "redelivered"] += 1
  }
  return counts
})

const redeliver: StoreCommand = {
  name: "webhook-endpoint redeliver",
  help: helpOf(
    `svc webhook-endpoint redeliver --organization <id> --endpoint <id> --since <timestamp>: delivers again, as new deliveries of
the same bytes, what the endpoint did not get since then; oldest first. The endpoint must be active. Running it again makes no
second delivery of the same one. At most ${MAX_REDELIVERIES} at a time; "left" says how many are left.

  --since <timestamp>   such as 2030-01-01T00:00:00Z
  --state <state>       exhausted (default): those that were given up. delivered: those that arrived. ended: both

Example: svc webhook-endpoint redeliver --organization org_... --endpoint whe_... --since 2030-01-01T00:00:00Z`,
    SETTINGS_OF.store
  ),
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions(
      { organization: "one", endpoint: "one", since: "one", state: "one" },
      words
    )
    const given = yield* validateAll({
      organization: requiredOption(options.organization, "organization"),
      endpoint: requiredOption(options.endpoint, "endpoint"),
      since: Effect.flatMap(requiredOption(options.since, "since"), (text) => {
        const since = parseTimestamp(text)
        return since === undefined
          ? Effect.fail(usageFault("--since must be a timestamp such as 2030-01-01T00:00:00Z"))
          : Effect.succeed(since)
      }),
      state: oneOf(REDELIVERED_STATES, options.state ?? "exhausted", "state")
    })
    return Effect.map(findOrganization(given.organization), (organization) => ({
      organization: organization.id,
      act: redeliverAll({ ...given, organization }).pipe(
        Effect.provideService(Deployment, deploymentOf(organization)),
        Effect.provide(RandomnessNodeCrypto.layer)
      )
    }))
  })
}

export const redeliveryCommands: ReadonlyArray<StoreCommand> = [redeliver]
