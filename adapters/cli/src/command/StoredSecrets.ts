import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { type SealedSecret, SealedSecrets } from "@svc/domain/ports/SealedSecrets"
import { SecretSealer } from "@svc/domain/ports/SecretSealer"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import { Effect, Layer, Result } from "effect"
import { LOST_MASTER_KEY_PAGE } from "../start/MasterKeyRemedy.ts"

/** Webhook endpoints that are read at a time. */
const PAGE_ENDPOINTS = 100

export const sealerOf = (keys: SecretSealerNodeCrypto.MasterKeys): Effect.Effect<SecretSealer["Service"]> =>
  SecretSealer.pipe(Effect.provide(Layer.orDie(SecretSealerNodeCrypto.layer(keys))))

/** Does something with every secret of the store, a page of endpoints at a time. */
export const forEachSecret = Effect.fnUntraced(function* <E, R>(
  visit: (secret: SealedSecret) => Effect.Effect<void, E, R>
): Effect.fn.Return<void, E | StoreUnavailable, R | SealedSecrets> {
  const store = yield* SealedSecrets
  yield* Effect.forEach(yield* store.signingKeys, visit, { discard: true })
  let after: SealedSecret["context"] | undefined
  do {
    const page: ReadonlyArray<SealedSecret> = yield* store.webhookSecrets(after, PAGE_ENDPOINTS)
    yield* Effect.forEach(page, visit, { discard: true })
    after = page.length < PAGE_ENDPOINTS ? undefined : page.at(-1)?.context
  } while (after !== undefined)
})

/** What a secret is of, in words. */
export const placeOfSecret = ({ context }: SealedSecret): string =>
  context.purpose === "signing_key" ? `signing key ${context.row}` : `secret of ${context.row}`

/** What to do about secrets that neither master key opens. */
export const lostRemedy = (lost: ReadonlyArray<SealedSecret>): string => {
  const hasSigningKey = lost.some(({ context }) => context.purpose === "signing_key")
  const hasEndpoint = lost.some(({ context }) => context.purpose === "webhook_secret")
  const ifGone = [
    ...(hasSigningKey ? [`for the signing key go by ${LOST_MASTER_KEY_PAGE}`] : []),
    ...(hasEndpoint ? ["have the owners of these webhook endpoints rotate their secrets"] : [])
  ]
  return `set the key that sealed them as SVC_MASTER_KEY_PREVIOUS; if it is lost for good, ${ifGone.join(", and ")}`
}

/** Which master key opens the secrets that the store keeps. */
export interface SecretFacts {
  readonly current: number
  /** Those that the previous key alone opens. */
  readonly previous: number
  /** Those that neither opens. */
  readonly lost: ReadonlyArray<SealedSecret>
}

export const secretFacts = Effect.fnUntraced(function* (
  keys: SecretSealerNodeCrypto.MasterKeys
): Effect.fn.Return<SecretFacts, StoreUnavailable, SealedSecrets> {
  const current = yield* sealerOf({ current: keys.current })
  const either = yield* sealerOf(keys)
  const facts = { current: 0, previous: 0, lost: [] as Array<SealedSecret> }
  yield* forEachSecret((secret) =>
    Effect.gen(function* () {
      const { context, sealed } = secret
      if (Result.isSuccess(yield* Effect.result(current.open(context, sealed)))) facts.current += 1
      else if (Result.isSuccess(yield* Effect.result(either.open(context, sealed)))) facts.previous += 1
      else facts.lost.push(secret)
    })
  )
  return facts
})
