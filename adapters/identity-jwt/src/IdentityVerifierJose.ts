import type { IdentityAlgorithm, IdentitySettings } from "@svc/domain/Organization"
import {
  IdentityAssertionRefused,
  IdentityVerifier,
  type VerifiedIdentity
} from "@svc/domain/ports/IdentityVerifier"
import type { Instant } from "@svc/protocol/Timestamp"
import { Effect, Layer, Redacted, type Result } from "effect"
import { type CryptoKey, compactVerify } from "jose"
import { readClaims, readCompactJws } from "./CompactJws.ts"
import { checkClaims } from "./IdentityClaims.ts"
import type { IdentityFault } from "./IdentityFault.ts"
import { type IdentityKeySet, importKey, selectKey } from "./IdentityKey.ts"

/**
 * Finds the key set at an organization's `jwks_uri`. `kid` is what the assertion names, so that an
 * unknown one can make it look again; caching and its bounds (part 6) are the resolver's business. A
 * failure of any kind refuses the assertion and becomes the `cause` of that.
 */
export type ResolveKeys = (request: {
  readonly jwksUri: string
  readonly kid: string | undefined
}) => Effect.Effect<IdentityKeySet, unknown>

export interface IdentityVerifierOptions {
  /** Absent: organizations whose keys are at an address have every assertion refused. */
  readonly resolveKeys?: ResolveKeys | undefined
}

const refused = (reason: IdentityFault): IdentityAssertionRefused => new IdentityAssertionRefused({ reason })

const keysUnavailable = (cause: unknown): IdentityAssertionRefused =>
  new IdentityAssertionRefused({
    reason: "keys_unavailable" satisfies IdentityFault,
    cause: Redacted.make(cause)
  })

const checked = <A>(result: Result.Result<A, IdentityFault>): Effect.Effect<A, IdentityAssertionRefused> =>
  Effect.mapError(Effect.fromResult(result), refused)

const noResolver: ResolveKeys = () => Effect.fail("no resolver of keys is configured")

const keysOf = (
  settings: IdentitySettings,
  kid: string | undefined,
  resolveKeys: ResolveKeys
): Effect.Effect<IdentityKeySet, IdentityAssertionRefused> =>
  "jwks" in settings.keys
    ? Effect.succeed(settings.keys.jwks)
    : Effect.mapError(resolveKeys({ jwksUri: settings.keys.jwksUri, kid }), keysUnavailable)

const checkSignature = (
  assertion: string,
  key: CryptoKey,
  algorithm: IdentityAlgorithm
): Effect.Effect<void, IdentityAssertionRefused> =>
  Effect.tryPromise({
    try: () => compactVerify(assertion, key, { algorithms: [algorithm] }),
    catch: () => refused("signature_invalid")
  })

const verify = (
  input: { readonly assertion: string; readonly settings: IdentitySettings; readonly now: Instant },
  resolveKeys: ResolveKeys
): Effect.Effect<VerifiedIdentity, IdentityAssertionRefused> =>
  Effect.gen(function* () {
    const { assertion, settings, now } = input
    const jws = yield* checked(readCompactJws(assertion, settings.algorithms))
    const keySet = yield* keysOf(settings, jws.kid, resolveKeys)
    const key = yield* checked(selectKey(keySet, jws.kid))
    yield* checkSignature(
      assertion,
      yield* Effect.mapError(importKey(key, jws.algorithm), refused),
      jws.algorithm
    )
    const claims = yield* checked(readClaims(jws.payload))
    const { issuer, audience } = settings
    return yield* checked(checkClaims(claims, { issuer, audience, now }))
  })

/**
 * Verifies identity assertions (part 6) with jose behind a strict reading of our own: jose checks the
 * signature and nothing else. Time is the `now` of the input; the host's clock is not read.
 */
export const layerWith = (options: IdentityVerifierOptions): Layer.Layer<IdentityVerifier> => {
  const resolveKeys = options.resolveKeys ?? noResolver
  return Layer.succeed(
    IdentityVerifier,
    IdentityVerifier.of({
      verify: Effect.fn("IdentityVerifier.verify")((input) => verify(input, resolveKeys))
    })
  )
}

/** A verifier for organizations with inline keys. */
export const layer: Layer.Layer<IdentityVerifier> = layerWith({})
