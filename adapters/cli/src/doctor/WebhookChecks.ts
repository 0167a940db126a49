import type { StoreState } from "@svc/domain/ports/StoreStatistics"
import type { WebhookEndpointState } from "@svc/domain/webhook/WebhookEndpoint"
import { CONNECT_LIMIT_MS } from "@svc/guarded-http/GuardedClient"
import { connectTo } from "@svc/guarded-http/GuardedConnection"
import { checkTarget } from "@svc/guarded-http/TargetGuard"
import { formatNanos, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect, Result } from "effect"
import { type Check, counted, failed, namedList, ok, skipped, warning } from "./Check.ts"
import { Network } from "./NetworkChecks.ts"

/** As the alerts SvcDueTransitionsLate and SvcWebhooksLate have it, in seconds. */
const LATE_DUE_SECONDS = 60n
const LATE_WEBHOOK_SECONDS = 300n

const secondsOf = (nanos: bigint): bigint => nanos / NANOS_PER_SECOND

export const dueCheck: Check<StoreState> = {
  name: "workers.due",
  judge: ({ dueLag }) =>
    secondsOf(dueLag) > LATE_DUE_SECONDS
      ? failed(
          `what came due ${secondsOf(dueLag)} s ago is not recorded: no worker is at work`,
          "run svc worker, or svc serve without --no-worker, and look at its log"
        )
      : ok(dueLag === 0n ? "nothing is due" : `what came due ${secondsOf(dueLag)} s ago is next`)
}

export const backlogCheck: Check<StoreState> = {
  name: "webhooks.backlog",
  judge: ({ dueDeliveries, webhookLag }) => {
    if (dueDeliveries === 0) return ok("no delivery is due")
    const found = `${counted(dueDeliveries, "delivery is", "deliveries are")} due, the oldest for ${secondsOf(webhookLag)} s`
    return secondsOf(webhookLag) > LATE_WEBHOOK_SECONDS
      ? warning(found, "run more workers, or look in their logs for what holds them up")
      : ok(found)
  }
}

/** What the numbers of the store tell. */
export const BACKLOG_CHECKS: ReadonlyArray<Check<StoreState>> = [dueCheck, backlogCheck]

export const disabledCheck: Check<ReadonlyArray<WebhookEndpointState>> = {
  name: "webhooks.disabled",
  judge: (endpoints) =>
    endpoints.length === 0
      ? ok("no endpoint is disabled")
      : warning(
          namedList(
            endpoints.map(
              ({ disabledAt, id, organizationId }) =>
                `${id} of ${organizationId}${disabledAt === undefined ? "" : ` since ${formatNanos(disabledAt)}`}`
            )
          ),
          "see why with svc webhook-endpoint deliveries; its organization reactivates it once it answers"
        )
}

/** Most endpoints that are connected to, how many at once, and how long all of them may take, in seconds. */
export const MAX_CONNECTED_ENDPOINTS = 200
const CONNECTED_AT_ONCE = 20
export const CONNECTIONS_LIMIT_SECONDS = 90

const REFUSALS: Readonly<Record<string, string>> = {
  form: "its address is not allowed",
  name_unresolved: "its name has no address",
  address_not_public: "its address is not public",
  ResolutionFailed: "the name servers do not answer",
  connection_failed: "nothing accepts connections there",
  tls_failed: "the TLS handshake fails",
  TimeoutError: `no connection within ${CONNECT_LIMIT_MS} ms`
}

interface Refused {
  readonly _tag: string
  readonly reason?: string
  readonly error?: string
}

/** Connects under the guard that deliveries pass, and sends nothing. Tells why that fails; the address is not told, since its path may be a secret. */
const unreachable = (
  { id, organizationId, url }: WebhookEndpointState,
  loopbackAllowed: boolean
): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const { ca, resolve } = yield* Network
    const attempt = Effect.scoped(
      Effect.flatMap(checkTarget({ loopbackAllowed, resolve }, url), (target) => connectTo(target, ca))
    )
    const reached = yield* Effect.result(Effect.timeout(attempt, CONNECT_LIMIT_MS))
    if (Result.isSuccess(reached)) return undefined
    const { _tag, error, reason }: Refused = reached.failure
    const told = REFUSALS[reason ?? error ?? _tag] ?? "it cannot be reached"
    return `${id} of ${organizationId} (${told})`
  })

export interface ReachFacts {
  readonly asked: number
  readonly unreachable: ReadonlyArray<string>
}

export const reachFacts = (
  endpoints: ReadonlyArray<WebhookEndpointState>,
  loopbackAllowed: boolean
): Effect.Effect<ReachFacts> =>
  Effect.map(
    Effect.forEach(endpoints, (endpoint) => unreachable(endpoint, loopbackAllowed), {
      concurrency: CONNECTED_AT_ONCE
    }),
    (told) => ({ asked: endpoints.length, unreachable: told.filter((line) => line !== undefined) })
  )

export const reachCheck: Check<ReachFacts | undefined> = {
  name: "webhooks.reachable",
  judge: (facts) => {
    if (facts === undefined) return skipped("endpoints are connected to with --webhooks")
    const all = `${counted(facts.asked, "active endpoint")}${facts.asked === MAX_CONNECTED_ENDPOINTS ? ", no more of them" : ""}`
    return facts.unreachable.length === 0
      ? ok(`${all}: each accepts a connection`)
      : warning(
          `${facts.unreachable.length} of ${all}: ${namedList(facts.unreachable)}`,
          "if it is most of them, look at how this machine reaches the Internet; else tell their organizations"
        )
  }
}
