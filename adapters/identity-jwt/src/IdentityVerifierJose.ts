import type { IdentityAlgorithm } from "@svc/domain/organization/Organization"
import {
  IdentityAssertionRefused,
  type IdentityKeysUnavailable,
  IdentityVerifier,
  type VerifiedIdentity
} from "@svc/domain/ports/IdentityVerifier"
import { Effect, Layer, type Result } from "effect"
import { type CryptoKey, compactVerify } from "jose"
import { readClaims, readCompactJws } from "./CompactJws.ts"
import { checkClaims } from "./IdentityClaims.ts"
import type { IdentityFault } from "./IdentityFault.ts"
import { type IdentityKeySet, importKey, selectKey } from "./IdentityKey.ts"

/**
 * Finds the key set at an organization's `jwks_uri`. `kid` is what the assertion names, so that an
 * unknown one can make it look again; caching and its bounds (part 6) are the resolver's business.
 */
export type ResolveKeys = (request: {
  readonly organization: string
  readonly jwksUri: string
  readonly kid: string | undefined
}) => Effect.Effect<IdentityKeySet, IdentityKeysUnavailable>

export interface IdentityVerifierOptions {
  /** Absent: organizations whose keys are at an address have every assertion refused. */
  readonly resolveKeys?: ResolveKeys | undefined
}

const refused = (reason: IdentityFault): IdentityAssertionRefused => new IdentityAssertionRefused({ reason })

const checked = <A>(result: Result.Result<A, IdentityFault>): Effect.Effect<A, IdentityAssertionRefused> =>
  Effect.mapError(Effect.fromResult(result), refused)

type Input = Parameters<IdentityVerifier["Service"]["verify"]>[0]

const keysOf = (
  { organization, settings }: Input,
  kid: string | undefined,
  resolveKeys: ResolveKeys | undefined
): Effect.Effect<IdentityKeySet, IdentityAssertionRefused | IdentityKeysUnavailable> => {
  const { keys } = settings
  if ("jwks" in keys) return Effect.succeed(keys.jwks)
  if (resolveKeys === undefined) return Effect.fail(refused("keys_unavailable"))
  return resolveKeys({ organization, jwksUri: keys.jwksUri, kid })
}

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
  input: Input,
  resolveKeys: ResolveKeys | undefined
): Effect.Effect<VerifiedIdentity, IdentityAssertionRefused | IdentityKeysUnavailable> =>
  Effect.gen(function* () {
    const { assertion, settings, now } = input
    const jws = yield* checked(readCompactJws(assertion, settings.algorithms))
    const keySet = yield* keysOf(input, jws.kid, resolveKeys)
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
export const layerWith = ({ resolveKeys }: IdentityVerifierOptions): Layer.Layer<IdentityVerifier> =>
  Layer.succeed(
    IdentityVerifier,
    IdentityVerifier.of({
      verify: Effect.fn("IdentityVerifier.verify")((input) => verify(input, resolveKeys))
    })
  )

/** A verifier for organizations with inline keys. */
export const layer: Layer.Layer<IdentityVerifier> = layerWith({})
