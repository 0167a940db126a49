import {
  type NewSigningKey,
  type Rotation,
  RotationPending,
  type SigningKeyList,
  type SigningKeyRecords,
  SigningKeyUnknown
} from "@svc/domain/ports/SigningKeyRecords"
import type { JsonWebKeyEs256 } from "@svc/protocol/evidence/KeySet"
import { Effect } from "effect"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { readPlain, writePlain } from "../RecordCodec.ts"
import { CLOCK } from "./PostgresReads.ts"

/** Keys that belong to the whole deployment have no organization. */
const DEPLOYMENT = ""

const LIST = `select clock.now as clock, k.public_jwk, k.sealed, k.created_at, k.signs_from, k.withdrawn_at
from (select ${CLOCK} as now) clock left join {schema}.signing_key k on k.organization = $1::text
order by k.created_at, k.kid`

const ADD_FIRST = `insert into {schema}.signing_key (organization, kid, created_at, signs_from, public_jwk, sealed)
values ($1::text, $2::text, ${CLOCK}, 0, $3::text, $4::text) on conflict do nothing`

const ROTATE = `select * from {schema}.rotate_signing_key(
  $1::text, $2::text, $3::text, $4::text, $5::bigint, $6::boolean)`

const WITHDRAW =
  "select * from {schema}.withdraw_signing_key($1::text, $2::text, $3::text, $4::text, $5::text)"

const FORGET_BEFORE = `update {schema}.signing_key k set sealed = null
where k.organization = $1::text and k.sealed is not null and k.signs_from < (
  select later.signs_from from {schema}.signing_key later
  where later.organization = $1::text and later.kid = $2::text and later.signs_from <= ${CLOCK})`

interface KeyRow {
  readonly clock: bigint
  readonly public_jwk: string | null
  readonly sealed: string | null
  readonly created_at: bigint
  readonly signs_from: bigint | null
  readonly withdrawn_at: bigint | null
}

interface RotationRow {
  readonly o_outcome: "first" | "rotated" | "pending"
  readonly o_kid: string
  readonly o_signs_from: bigint
}

interface WithdrawalRow {
  readonly o_outcome: "withdrawn" | "unknown"
  readonly o_withdrawn_at: bigint
  readonly o_signing: string
}

const listOf = (rows: ReadonlyArray<KeyRow>): SigningKeyList => ({
  now: rows[0]!.clock,
  keys: rows.flatMap(({ created_at: createdAt, public_jwk, sealed, signs_from, withdrawn_at }) =>
    public_jwk === null
      ? []
      : [
          {
            publicJwk: readPlain<JsonWebKeyEs256>(public_jwk),
            sealed: sealed ?? undefined,
            createdAt,
            signsFrom: signs_from ?? undefined,
            ...(withdrawn_at === null ? {} : { withdrawnAt: withdrawn_at })
          }
        ]
  )
})

const rotationOf = ({
  o_kid: kid,
  o_outcome,
  o_signs_from: signsFrom
}: RotationRow): Effect.Effect<Rotation, RotationPending> =>
  o_outcome === "pending"
    ? Effect.fail(new RotationPending({ kid, signsFrom }))
    : Effect.succeed({ isFirst: o_outcome === "first", signsFrom })

const parametersOf = ({ publicJwk, sealed }: NewSigningKey) =>
  [DEPLOYMENT, publicJwk.kid, writePlain(publicJwk), sealed] as const

export const makeSigningKeyRecords = ({
  reads,
  schema,
  server,
  writes
}: PostgresClients): SigningKeyRecords["Service"] => {
  const list = statement<KeyRow>(reads, schema, LIST)
  const addFirst = statement(writes, schema, ADD_FIRST)
  const rotate = statement<RotationRow>(writes, schema, ROTATE)
  const withdraw = statement<WithdrawalRow>(writes, schema, WITHDRAW)
  const forgetBefore = statement(server?.polls ?? writes, schema, FORGET_BEFORE)
  return {
    list: Effect.suspend(() => guarded(Effect.map(list([DEPLOYMENT]), listOf))),
    addFirst: (key) => Effect.asVoid(guarded(addFirst(parametersOf(key)))),
    rotate: (key, when) =>
      guarded(
        rotate([...parametersOf(key), when === "now" ? "0" : String(when.delay), String(when === "now")])
      ).pipe(Effect.flatMap((rows) => rotationOf(rows[0]!))),
    withdraw: (kid, { publicJwk, sealed }) =>
      guarded(withdraw([DEPLOYMENT, kid, publicJwk.kid, writePlain(publicJwk), sealed])).pipe(
        Effect.flatMap(([row]) =>
          row?.o_outcome === "withdrawn"
            ? Effect.succeed({ withdrawnAt: row.o_withdrawn_at, signing: row.o_signing })
            : Effect.fail(new SigningKeyUnknown())
        )
      ),
    forgetBefore: (kid) => Effect.asVoid(guarded(forgetBefore([DEPLOYMENT, kid])))
  }
}
