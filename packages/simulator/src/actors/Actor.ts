import type { WriteRequest } from "@svc/domain/engine/WriteRequest"
import type { JsonValue } from "@svc/protocol/json/Json"
import { Effect } from "effect"
import type { WorldAudit } from "../audit/WorldAudit.ts"
import type { RarePaths } from "../RarePaths.ts"
import type { SigningKeys } from "../server/CheapCrypto.ts"
import { MILLISECOND, MINUTE, type Micros, SECOND } from "../time/Micros.ts"
import type { SeededRandom } from "../time/SeededRandom.ts"
import type { SimulatedTime } from "../time/SimulatedTime.ts"
import type { Client, Request } from "./Client.ts"
import type { Tenant } from "./Tenant.ts"

/** What every actor works with. */
export interface Stage {
  readonly time: SimulatedTime
  readonly random: SeededRandom
  readonly rare: RarePaths
  readonly audit: WorldAudit
  readonly client: Client
  readonly tenant: Tenant
  readonly signingKeys: SigningKeys
  readonly isOver: () => boolean
  /** Until then nobody begins anything. */
  readonly quietUntil: () => Micros
}

/** A write under a new key. */
export const newWrite = ({ random, tenant }: Stage, body: JsonValue): WriteRequest => ({
  organization: tenant.organization,
  idempotencyKey: `key-${random.integer(0, 2 ** 32 - 1).toString(36)}-${random.integer(0, 2 ** 32 - 1).toString(36)}`,
  body
})

/** Of the newest few, mostly, so that several actors meet at one. */
export const pickRecent = <A>({ random }: Stage, list: ReadonlyArray<A>): A | undefined => {
  if (list.length === 0) return undefined
  return random.chance(0.7)
    ? list[list.length - 1 - random.integer(0, Math.min(3, list.length - 1))]
    : random.pick(list)
}

/** A mandate that a caller thinks can be used, mostly one that several use at once. */
export const pickMandate = (stage: Stage): { readonly id: string; readonly subject: string } | undefined => {
  const { audit, tenant } = stage
  const active = tenant.mandates.filter(({ id }) => audit.mandates.counted(id)?.state === "ACTIVE")
  return pickRecent(stage, active.length > 0 && stage.random.chance(0.95) ? active : tenant.mandates)
}

/** How long an actor waits before what it does next: mostly moments, so that actors meet. */
const moment = ({ random }: Stage): Micros => {
  const choice = random.next()
  if (choice < 0.8) return random.integer(1, 30 * MILLISECOND)
  return choice < 0.93 ? random.integer(1, 2 * SECOND) : random.integer(SECOND, MINUTE)
}

/** Waits until an actor does something again. */
export const rest = (stage: Stage): Effect.Effect<void> => {
  const { client, quietUntil, random, time } = stage
  const quiet = quietUntil() - time.now
  return client.sleep(quiet > 0 ? quiet + random.integer(0, 2 * SECOND) : moment(stage))
}

interface KeyedResult {
  readonly resource: { readonly id: string }
  readonly replayed: boolean
}

/** Sends a keyed write until its outcome is known, and holds its answer against earlier ones under the key. */
export const sendKeyed = Effect.fnUntraced(function* <
  A extends KeyedResult,
  E extends { readonly _tag: string }
>({ audit, client, rare, tenant }: Stage, key: string, request: Request<A, E>) {
  const { losses } = audit.mandates
  const outcome = yield* client.write(request)
  if (outcome._tag === "Done" && losses === audit.mandates.losses) {
    if (outcome.value.replayed) rare.count("idempotent replay")
    if (key !== "") audit.mandates.claims.answered(tenant.organization.id, key, outcome.value.resource.id)
  }
  return outcome
})
