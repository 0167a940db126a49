import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { type SealedSecret, SealedSecrets } from "@svc/domain/ports/SealedSecrets"
import { SecretSealer } from "@svc/domain/ports/SecretSealer"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import { Effect, Layer } from "effect"

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
