import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import type { Organization } from "@svc/domain/organization/Organization"
import { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import { createWebhookEndpoint } from "@svc/domain/programs/WebhookEndpoints"
import type { WebhookEndpoint } from "@svc/protocol/webhook/WebhookEndpoint"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import { harnessDeployment, makeCaller, proposalBody, recurringBody } from "@svc/testkit/ProgramHarness"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { Effect, Layer, Redacted } from "effect"

/** What programs need beside a store, so that a test of commands has something to look at. Every webhook target is taken. */
export const besideStore = Layer.mergeAll(
  RandomnessNodeCrypto.layer,
  harnessDeployment,
  TimeZonesIntl.layer,
  Layer.sync(StreamTurns)(makeTurns),
  Layer.orDie(SecretSealerNodeCrypto.layer({ current: Redacted.make(new Uint8Array(32)) })),
  Layer.succeed(WebhookTransport)({ check: () => Effect.void, deliver: () => Effect.never })
)

/** A mandate of EUR 15.00 a month that begins now. */
export const monthlyBody = () =>
  recurringBody(
    { periods: [{ unit: "MONTH", max_amount: 1500 }] },
    { window: { ends_at: new Date(Date.now() + 30 * 86_400_000).toISOString() } }
  )

export const makeEndpoint = (organization: Organization) =>
  Effect.map(
    createWebhookEndpoint({
      organization,
      idempotencyKey: crypto.randomUUID(),
      body: { url: "https://hooks.shop.example/svc" }
    }),
    ({ resource }) => resource as WebhookEndpoint
  )

/** An approved mandate, an authorization under it, and an endpoint of an organization: their identifiers. */
export const makeSampleData = Effect.fnUntraced(function* (organization: Organization) {
  const caller = makeCaller(organization)
  const { resource: mandate } = yield* caller.create(monthlyBody())
  yield* caller.approve(mandate.id)
  const { resource: authorization } = yield* caller.propose(mandate.id, proposalBody(1))
  const endpoint = yield* makeEndpoint(organization)
  return { mandate: mandate.id, authorization: authorization.id, endpoint: endpoint.id }
})
