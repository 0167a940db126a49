import { randomBytes } from "node:crypto"
import { MASTER_KEY_BYTES, SecretSealer, webhookSecretContext } from "@svc/domain/ports/SecretSealer"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { MAX_WEBHOOK_ENDPOINTS } from "@svc/domain/webhook/WebhookEndpoint"
import { webhookWorker } from "@svc/domain/workers/WebhookWorker"
import * as WebhookTransportHttp from "@svc/guarded-http/WebhookTransportHttp"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import { layer as sealerLayer } from "@svc/signer/SecretSealerNodeCrypto"
import * as PostgresStore from "@svc/store-postgres/PostgresStore"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { keepNewObjectsYoung } from "../src/start/HeapFlags.ts"
import { openDatabase } from "./Database.ts"
import { bodyOf, type Load, type Sender } from "./Sender.ts"
import { SECRET } from "./SignedPost.ts"

const SCHEMA = "ours"

/** The endpoints of as many organizations as it takes. */
const registerEndpoints = Effect.fnUntraced(function* (targets: ReadonlyArray<string>) {
  const store = yield* WebhookStore
  const sealer = yield* SecretSealer
  const organizations = Array.from({ length: Math.ceil(targets.length / MAX_WEBHOOK_ENDPOINTS) }, () =>
    newIdentifier("org_")
  )
  return yield* Effect.forEach(targets, (url, index) =>
    Effect.gen(function* () {
      const id = newIdentifier("whe_")
      const organizationId = organizations[Math.floor(index / MAX_WEBHOOK_ENDPOINTS)]!
      const sealedSecret = yield* sealer.seal(
        webhookSecretContext({ id, organizationId }, 1),
        Redacted.make(SECRET)
      )
      const { now } = yield* store.loadEndpoint({ organization: organizationId })
      yield* store.changeEndpoint({
        organization: organizationId,
        expected: "absent",
        limit: MAX_WEBHOOK_ENDPOINTS,
        claims: [],
        next: {
          id,
          organizationId,
          url,
          status: "active",
          consecutiveFailedAttempts: 0,
          consecutiveExhaustedDeliveries: 0,
          generation: 0,
          secretVersion: 1,
          sealedSecret,
          createdAt: now,
          updatedAt: now
        }
      })
      return { organization: organizationId, endpoint: id, now }
    })
  )
})

/** The service's own worker at its own store, as `svc worker` runs it. */
export const serviceSender = ({ databaseUrl, deliveries, targets }: Load): Sender => {
  keepNewObjectsYoung()
  const runtime = ManagedRuntime.make(
    Layer.mergeAll(
      PostgresStore.layer({ url: Redacted.make(databaseUrl), schema: SCHEMA, migrations: "run" }),
      RandomnessNodeCrypto.layer,
      sealerLayer({ current: Redacted.make(randomBytes(MASTER_KEY_BYTES)) }),
      WebhookTransportHttp.layer({ loopbackAllowed: true })
    )
  )
  const query = openDatabase(databaseUrl)
  return {
    fill: async () => {
      const endpoints = await runtime.runPromise(registerEndpoints(targets))
      const rows = Array.from({ length: deliveries }, (_, number) => {
        const { endpoint, now, organization } = endpoints[number % endpoints.length]!
        const event = `evt_${String(number).padStart(26, "0")}`
        return {
          organization,
          endpoint,
          delivery: newIdentifier("dlv_"),
          event,
          now: String(now),
          body: bodyOf(number)
        }
      })
      await query(
        `insert into ${SCHEMA}.webhook_delivery (organization, endpoint, delivery, event, event_type, created_at, state,
            queue, next_attempt_at, body)
          select r.organization, r.endpoint, r.delivery, r.event, 'mandate.activated', r.now::bigint, 'pending', 'due',
            r.now::bigint, r.body
          from json_to_recordset($1::json) r (organization text, endpoint text, delivery text, event text, now text,
            body text)`,
        [JSON.stringify(rows)]
      )
      await query(`analyze ${SCHEMA}.webhook_delivery`)
    },
    start: async () => {
      runtime.runFork(webhookWorker)
    },
    isBusy: async () =>
      (
        await query(
          `select from ${SCHEMA}.webhook_delivery where queue is not null or open_token is not null limit 1`
        )
      ).length > 0
  }
}
