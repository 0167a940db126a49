import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { JsonWebKeyEs256 } from "@svc/protocol/KeySet"
import type { Instant } from "@svc/protocol/Timestamp"
import { Context, Data, Effect } from "effect"
import { type PostgresClients, statement } from "./PostgresClients.ts"
import { CLOCK } from "./PostgresReads.ts"
import { readPlain, writePlain } from "./RecordCodec.ts"
import { guarded } from "./StoreFault.ts"

/** A new signing key: its public half, and its private half sealed for the row of its `kid`. */
export interface NewSigningKey {
  readonly publicJwk: JsonWebKeyEs256
  /** Whoever has the master key can open it. */
  readonly sealed: string
}

/** A signing key as it is kept. */
export interface SigningKeyRecord {
  readonly publicJwk: JsonWebKeyEs256
  /** Absent once the key cannot sign any more: nothing would be lost with it but an attacker's chance. */
  readonly sealed: string | undefined
  readonly createdAt: Instant
  /** From then on it signs, until a later one does. Absent: it was withdrawn before it ever did. */
  readonly signsFrom: Instant | undefined
  /** When it was withdrawn as compromised. It is not published and never signs again. */
  readonly withdrawnAt?: Instant
}

/** The signing keys of a deployment, oldest first, and the store's clock. */
export interface SigningKeyList {
  readonly now: Instant
  readonly keys: ReadonlyArray<SigningKeyRecord>
}

/** Whether a key is out of the key set for good. What no key ever signed with needs no key to verify with either. */
export const isWithdrawn = ({ signsFrom, withdrawnAt }: SigningKeyRecord): boolean =>
  signsFrom === undefined || withdrawnAt !== undefined

/** The key that signs at an instant: the one that began last. */
export const signingKeyAt = (
  keys: ReadonlyArray<SigningKeyRecord>,
  now: Instant
): SigningKeyRecord | undefined =>
  keys.reduce<SigningKeyRecord | undefined>((latest, key) => {
    if (isWithdrawn(key) || key.signsFrom === undefined || key.signsFrom > now) return latest
    return latest?.signsFrom === undefined || key.signsFrom > latest.signsFrom ? key : latest
  }, undefined)

/** A key was published that is yet to sign; another may follow once it does. */
export class RotationPending extends Data.TaggedError("RotationPending")<{
  readonly kid: string
  readonly signsFrom: Instant
}> {}

/** No signing key has that `kid`. */
export class SigningKeyUnknown extends Data.TaggedError("SigningKeyUnknown")<Record<never, never>> {}

/** What a withdrawal came to. */
export interface Withdrawal {
  /** By the store's clock; of an earlier withdrawal, if there was one. */
  readonly withdrawnAt: Instant
  /** The key that signs now. */
  readonly signing: string
}

/** What a rotation came to. */
export interface Rotation {
  /** Whether it made the first key of the deployment, which signs at once since nobody holds another. */
  readonly isFirst: boolean
  readonly signsFrom: Instant
}

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

/** Where the signing keys of a deployment are kept. The store's clock says which of them signs. */
export class SigningKeyRecords extends Context.Service<
  SigningKeyRecords,
  {
    readonly list: Effect.Effect<SigningKeyList, StoreUnavailable>
    /** Records the key that signs from the beginning, unless there is one: of several that start at once, one wins. */
    readonly addFirst: (key: NewSigningKey) => Effect.Effect<void, StoreUnavailable>
    /**
     * Publishes a key that signs `delay` nanoseconds from now. `"now"` is for a compromise: the key signs at once, and
     * one that is yet to sign is withdrawn, since it was kept in the same place. Rotations at the same time take turns.
     */
    readonly rotate: (
      key: NewSigningKey,
      when: { readonly delay: Instant } | "now"
    ) => Effect.Effect<Rotation, RotationPending | StoreUnavailable>
    /**
     * Takes a compromised key out of the key set and its private half away, at once and for good. In the place of the
     * key that signs now, `successor` signs from then on; otherwise it is not used.
     */
    readonly withdraw: (
      kid: string,
      successor: NewSigningKey
    ) => Effect.Effect<Withdrawal, SigningKeyUnknown | StoreUnavailable>
    /**
     * Removes the private half of every key that the given one has followed; of none while it is yet to sign. For whoever
     * can open the given one: what is removed is gone for everybody.
     */
    readonly forgetBefore: (kid: string) => Effect.Effect<void, StoreUnavailable>
  }
>()("@svc/store-postgres/SigningKeyRecords") {}

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
