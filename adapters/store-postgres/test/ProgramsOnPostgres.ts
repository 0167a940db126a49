import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import type { MandateStore } from "@svc/domain/ports/MandateStore"
import * as IdentityVerifierJose from "@svc/identity-jwt/IdentityVerifierJose"
import * as PasskeyVerifierWebAuthn from "@svc/passkey-webauthn/PasskeyVerifierWebAuthn"
import { formatInstant, type Instant } from "@svc/protocol/Timestamp"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import {
  harnessDeployment,
  harnessOrganization,
  makeCaller,
  recurringBody
} from "@svc/testkit/ProgramHarness"
import { DAY, newIdentifier } from "@svc/testkit/StoreFixtures"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { Effect, Layer, Redacted } from "effect"
import * as PostgresStore from "../src/PostgresStore.ts"

type Options = Partial<Omit<PostgresStore.PostgresOptions, "url">> & {
  readonly url: string
  readonly schema: string
}

/** The ports of programs beside those of the store. */
export const portsBesideStore = Layer.mergeAll(
  TimeZonesIntl.layer,
  harnessDeployment,
  RandomnessNodeCrypto.layer,
  SignerNodeCrypto.layerEphemeral,
  Layer.orDie(SecretSealerNodeCrypto.layer({ current: Redacted.make(new Uint8Array(32)) })),
  IdentityVerifierJose.layer,
  PasskeyVerifierWebAuthn.layer
)

/** The ports of one process: connections of its own to the shared database. */
export const processOn = ({ url, ...options }: Options) =>
  Layer.build(
    Layer.fresh(
      Layer.mergeAll(
        PostgresStore.layer({ ...options, url: Redacted.make(url), migrations: "run" }),
        portsBesideStore,
        Layer.sync(StreamTurns)(makeTurns)
      )
    )
  )

/** A caller of a new organization. */
export const newCaller = () => makeCaller(harnessOrganization({ id: newIdentifier("org_") }))

/** The store's clock. */
export const clockOf = (store: MandateStore["Service"]) =>
  Effect.map(store.load({ organization: newIdentifier("org_") }), ({ now }) => now)

/** A mandate that begins now, lasts a month and has room for all that a test may do. */
export const roomyBody = (now: Instant) =>
  recurringBody(
    { periods: [{ unit: "MONTH", max_amount: 1_000_000_000 }] },
    { window: { ends_at: formatInstant(now + 30n * DAY) } }
  )

/** The look at the store's history: sent by the clock, so no operation's cost. */
export const isHistoryLook = (text: string): boolean => text.includes(".history_state(")
