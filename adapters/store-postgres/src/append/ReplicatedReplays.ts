import {
  type ClaimHolder,
  ClaimTaken,
  type HeldClaim,
  type MandateStore,
  type StoreUnavailable
} from "@svc/domain/ports/MandateStore"
import type { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { Effect } from "effect"
import { decidingClient, type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"

/** Commits without writing a row. It waits for the standbys like any commit, and so for all earlier commits. */
const COMMIT = "select pg_logical_emit_message(true, 'svc', '')::text as position"

type Replicated = Effect.Effect<void, StoreUnavailable>

const isKeyHeld = (held: ReadonlyArray<HeldClaim> | ClaimHolder | undefined): boolean =>
  Array.isArray(held) ? held.some(({ kind }) => kind === "idempotency_key") : held !== undefined

const whereHeld =
  <Query, A extends { readonly held?: ReadonlyArray<HeldClaim> | ClaimHolder }, E>(
    load: (query: Query) => Effect.Effect<A, E>,
    replicated: Replicated
  ) =>
  (query: Query): Effect.Effect<A, E | StoreUnavailable> =>
    Effect.tap(load(query), ({ held }) => (isKeyHeld(held) ? replicated : Effect.void))

const whereTaken =
  <Query, A, E>(record: (query: Query) => Effect.Effect<A, E>, replicated: Replicated) =>
  (query: Query): Effect.Effect<A, E | StoreUnavailable> =>
    Effect.tapError(record(query), (refusal) =>
      refusal instanceof ClaimTaken && refusal.kind === "idempotency_key" ? replicated : Effect.void
    )

/**
 * The stores, which report a bound idempotency key only once the standbys have it. A server that restarts or ends a session
 * while a commit waits for a standby shows the commit before the standby has it. A caller that repeats the request is then
 * told that it succeeded, and a failover must not undo that.
 */
export const withReplicatedReplays = (
  clients: PostgresClients,
  mandates: MandateStore["Service"],
  webhooks: WebhookStore["Service"]
) => {
  if (clients.server === undefined) return { mandates, webhooks }
  const commit = statement(decidingClient(clients), clients.schema, COMMIT)
  const replicated: Replicated = Effect.suspend(() => Effect.asVoid(guarded(commit([]))))
  return {
    mandates: {
      ...mandates,
      load: whereHeld(mandates.load, replicated),
      append: whereTaken(mandates.append, replicated)
    },
    webhooks: {
      ...webhooks,
      loadEndpoint: whereHeld(webhooks.loadEndpoint, replicated),
      loadDelivery: whereHeld(webhooks.loadDelivery, replicated),
      changeEndpoint: whereTaken(webhooks.changeEndpoint, replicated),
      addDelivery: whereTaken(webhooks.addDelivery, replicated)
    }
  }
}
