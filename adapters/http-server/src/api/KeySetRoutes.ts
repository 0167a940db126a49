import { Signer } from "@svc/domain/ports/Signer"
import { KeySetApi } from "@svc/protocol/api/KeySetApi"
import { Effect } from "effect"
import { entityTag, matchesTag } from "../http/EntityTag.ts"
import { type Answer, JsonText } from "./Answer.ts"
import { groupRoutes } from "./GroupRoutes.ts"

/** Verifiers may cache the key set for five minutes (part 1). */
const CACHE_CONTROL = "public, max-age=300"

/** The public key set, with conditional requests (part 7). */
export const keySetRoutes = groupRoutes(KeySetApi, {
  read: ({ headers: sent }) =>
    Effect.gen(function* () {
      const { keySet } = yield* Signer
      const text = JSON.stringify(yield* keySet)
      const tag = entityTag(text)
      const headers = { "cache-control": CACHE_CONTROL, etag: tag }
      const found: Answer<never> = { body: new JsonText(text), headers }
      return matchesTag(sent["if-none-match"], tag) ? { ...found, notModified: true } : found
    })
})
