/** Everything that the programs need, in this process: the memory store and the adapters that have no server. */
import * as IdentityVerifierJose from "@svc/identity-jwt/IdentityVerifierJose"
import * as PasskeyVerifierWebAuthn from "@svc/passkey-webauthn/PasskeyVerifierWebAuthn"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import * as FaultyStore from "@svc/testkit/FaultyStore"
import { interleavedStore } from "@svc/testkit/Linearizability"
import { plainStore } from "@svc/testkit/PlainPorts"
import { HARNESS_START, harnessDeployment, seededBytes, seededRandomness } from "@svc/testkit/ProgramHarness"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { type Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"

const beside = (seed: number) =>
  Layer.mergeAll(
    TimeZonesIntl.layer,
    harnessDeployment,
    seededRandomness(seed),
    SignerNodeCrypto.layerEphemeral,
    SecretSealerNodeCrypto.layer({ current: Redacted.make(new Uint8Array(32)) }).pipe(Layer.orDie),
    IdentityVerifierJose.layer,
    PasskeyVerifierWebAuthn.layer
  )

/** A store of its own for each use, which takes and gives plain data alone, and randomness that repeats for a seed. */
export const memoryPrograms = (seed = 1) =>
  Layer.fresh(Layer.mergeAll(beside(seed), plainStore(MemoryStore.layer)))

/** The same with random pauses around each call of the store, so that what runs at once does race. */
export const racingPrograms = (seed = 1) => {
  const draw = seededBytes(seed)
  const store = interleavedStore(MemoryStore.layer, () => (draw(1)[0] ?? 0) % 6)
  return Layer.fresh(Layer.mergeAll(beside(seed), store))
}

/** The same with a store whose calls can be made to fail. */
export const faultyPrograms = (seed = 1) =>
  Layer.fresh(Layer.mergeAll(beside(seed), FaultyStore.layer(MemoryStore.layer)))

/** Begins the story at {@link HARNESS_START}. */
export const fromTheStart = TestClock.setTime(HARNESS_START)

/** Sets the test clock to an RFC 3339 time of whole milliseconds. */
export const setTo = (text: string): Effect.Effect<void> => TestClock.setTime(Date.parse(text))
