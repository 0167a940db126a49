import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { JsonWebKeyEs256 } from "@svc/protocol/KeySet"
import { Context, Effect } from "effect"
import { type PostgresClients, statement } from "./PostgresClients.ts"
import { CLOCK } from "./PostgresReads.ts"
import { readPlain, writePlain } from "./RecordCodec.ts"
import { guarded } from "./StoreFault.ts"

/** A signing key as it is kept: its public half in clear, its private half sealed for the row of its `kid`. */
export interface SigningKeyRecord {
  readonly publicJwk: JsonWebKeyEs256
  /** The private key sealed; whoever has the master key can open it. */
  readonly sealed: string
  /** One key of a deployment signs; the others are published, so that what they signed still verifies. */
  readonly isSigning: boolean
}

/** Keys that belong to the whole deployment have no organization. */
const DEPLOYMENT = ""

const LIST = `select k.public_jwk, k.sealed, k.state from {schema}.signing_key k
where k.organization = $1::text order by k.created_at, k.kid`

const ADD_FIRST = `insert into {schema}.signing_key (organization, kid, state, created_at, public_jwk, sealed)
values ($1::text, $2::text, 'SIGNING', ${CLOCK}, $3::text, $4::text) on conflict do nothing`

interface KeyRow {
  readonly public_jwk: string
  readonly sealed: string
  readonly state: string
}

const recordOf = (row: KeyRow): SigningKeyRecord => ({
  publicJwk: readPlain<JsonWebKeyEs256>(row.public_jwk),
  sealed: row.sealed,
  isSigning: row.state === "SIGNING"
})

/** Where the signing keys of a deployment are kept. */
export class SigningKeyRecords extends Context.Service<
  SigningKeyRecords,
  {
    /** All keys, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<SigningKeyRecord>, StoreUnavailable>
    /** Records the key that signs, unless there is one: of several that start at once, one wins. */
    readonly addFirst: (record: Omit<SigningKeyRecord, "isSigning">) => Effect.Effect<void, StoreUnavailable>
  }
>()("@svc/store-postgres/SigningKeyRecords") {}

export const makeSigningKeyRecords = ({
  reads,
  schema,
  writes
}: PostgresClients): SigningKeyRecords["Service"] => {
  const list = statement<KeyRow>(reads, schema, LIST)
  const addFirst = statement(writes, schema, ADD_FIRST)
  return {
    list: guarded(
      Effect.map(
        Effect.suspend(() => list([DEPLOYMENT])),
        (rows) => rows.map(recordOf)
      )
    ),
    addFirst: ({ publicJwk, sealed }) =>
      Effect.asVoid(guarded(addFirst([DEPLOYMENT, publicJwk.kid, writePlain(publicJwk), sealed])))
  }
}
