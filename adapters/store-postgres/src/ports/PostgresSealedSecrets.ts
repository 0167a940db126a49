import type { SealedSecret, SealedSecrets } from "@svc/domain/ports/SealedSecrets"
import { signingKeyContext, webhookSecretContext } from "@svc/domain/ports/SecretSealer"
import { Effect } from "effect"
import { decidingClient, type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { readEndpoint } from "../RecordCodec.ts"

const SIGNING_KEYS = `select k.kid, k.sealed from {schema}.signing_key k
where k.organization = '' and k.sealed is not null order by k.kid`

const WEBHOOK_SECRETS = `select e.record from {schema}.webhook_endpoint e
where (e.organization, e.endpoint) > ($1::text, $2::text)
order by e.organization, e.endpoint limit $3::bigint`

const REPLACE_SIGNING_KEY = `update {schema}.signing_key k set sealed = $3::text
where k.organization = '' and k.kid = $1::text and k.sealed = $2::text returning k.kid as place`

/** A sealed text occurs nowhere else, since it begins with a random nonce. Whoever replaces the record at the same time starts over. */
const REPLACE_WEBHOOK_SECRET = `update {schema}.webhook_endpoint e
set record = replace(e.record, $3::text, $4::text), revision = {schema}.next_revision(e.revision)
where e.organization = $1::text and e.endpoint = $2::text and position($3::text in e.record) > 0
returning e.endpoint as place`

const webhookSecretOf = ({ record }: { readonly record: string }): SealedSecret => {
  const endpoint = readEndpoint(record)
  return { context: webhookSecretContext(endpoint, endpoint.secretVersion), sealed: endpoint.sealedSecret }
}

export const makeSealedSecrets = (clients: PostgresClients): SealedSecrets["Service"] => {
  const { reads, schema, writes } = clients
  const signingKeys = statement<{ readonly kid: string; readonly sealed: string }>(
    reads,
    schema,
    SIGNING_KEYS
  )
  const webhookSecrets = statement<{ readonly record: string }>(reads, schema, WEBHOOK_SECRETS)
  const replaceSigningKey = statement(writes, schema, REPLACE_SIGNING_KEY)
  const replaceWebhookSecret = statement(decidingClient(clients), schema, REPLACE_WEBHOOK_SECRET)
  return {
    signingKeys: Effect.suspend(() =>
      guarded(
        Effect.map(signingKeys([]), (rows) =>
          rows.map(({ kid, sealed }) => ({ context: signingKeyContext(kid), sealed }))
        )
      )
    ),
    webhookSecrets: (after, limit) =>
      guarded(
        Effect.map(webhookSecrets([after?.organization ?? "", after?.row ?? "", String(limit)]), (rows) =>
          rows.map(webhookSecretOf)
        )
      ),
    replace: ({ context: { organization, purpose, row }, sealed }, next) =>
      Effect.map(
        guarded(
          purpose === "signing_key"
            ? replaceSigningKey([row, sealed, next])
            : replaceWebhookSecret([organization, row, sealed, next])
        ),
        (rows) => rows.length > 0
      )
  }
}
