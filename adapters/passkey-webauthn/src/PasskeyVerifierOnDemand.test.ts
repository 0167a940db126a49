import { assert, describe, it } from "@effect/vitest"
import type { RegistrationResponse } from "@svc/domain/approval/PasskeyResponse"
import { PasskeyRefused, PasskeyVerifier } from "@svc/domain/ports/PasskeyVerifier"
import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import { Effect, Layer } from "effect"
import { vi } from "vitest"
import { layer } from "./PasskeyVerifierOnDemand.ts"

const relyingParty = { rpId: "approve.example", origin: "https://approve.example" }
const challenge = Buffer.alloc(32, 7).toString("base64url")

const loads = vi.hoisted(() => ({ count: 0 }))
vi.mock("./PasskeyVerifierWebAuthn.ts", (original) => {
  loads.count += 1
  return original()
})

describe("a verifier that is loaded on demand", () => {
  it.effect("is loaded once its layer stands, before anything is to be verified", () =>
    Effect.gen(function* () {
      assert.strictEqual(loads.count, 0)
      yield* Layer.build(layer)
      assert.strictEqual(loads.count, 1)
    })
  )

  it.effect("takes what the verifier takes, and refuses what it refuses", () =>
    Effect.gen(function* () {
      const verifier = yield* PasskeyVerifier
      const passkey = makeSoftwarePasskey({ origin: relyingParty.origin })
      const response = passkey.register({
        challenge,
        rp: { id: relyingParty.rpId },
        user: { id: Buffer.alloc(32, 9).toString("base64url") },
        pubKeyCredParams: [{ alg: -7 }]
      }) as RegistrationResponse
      const registered = yield* verifier.verifyRegistration({ response, challenge, relyingParty })
      assert.strictEqual(registered.credentialId, response.id)
      const other = Buffer.alloc(32, 8).toString("base64url")
      const refusal = yield* Effect.flip(
        verifier.verifyRegistration({ response, challenge: other, relyingParty })
      )
      assert.instanceOf(refusal, PasskeyRefused)
    }).pipe(Effect.provide(layer))
  )
})
