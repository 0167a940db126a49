import { assert, describe, it } from "@effect/vitest"
import { KeyManagementRefused, KeyManagementUnavailable } from "@svc/domain/ports/KeyManagement"
import { signerSuite } from "@svc/testkit/SignerSuite"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { fakeKeyVault, VAULT_FAULTS } from "../test/FakeKeyVault.ts"
import { recordedKey, signerWith } from "../test/StoredManagedKey.ts"
import { makeAzureKeyVault } from "./AzureKeyVault.ts"
import { isEncryptedMasterKey, managedKeys } from "./KeyManagementOnDemand.ts"

const credential = { getToken: async () => ({ token: "token", expiresOnTimestamp: Date.now() + 3_600_000 }) }

const account = Effect.gen(function* () {
  const vault = yield* fakeKeyVault
  const service = makeAzureKeyVault(credential, {
    allowInsecureConnection: true,
    disableChallengeResourceVerification: true
  })
  return { vault, service, kms: managedKeys({ "azure-key-vault": Effect.succeed(service) }) }
})

const DIGEST = new Uint8Array(32).fill(5)
const FEWER_SIGNATURES = 40

signerSuite(
  "of a key in Azure Key Vault",
  Layer.unwrap(
    Effect.gen(function* () {
      const { kms, vault } = yield* account
      const { id } = vault.addKey({ type: "EC-HSM" })
      return signerWith(kms, [yield* recordedKey(`azure-key-vault:${id}`, kms)])
    })
  ),
  FEWER_SIGNATURES
)

describe("a call to Azure Key Vault", () => {
  it.effect("gives the version of a key that is named without one", () =>
    Effect.gen(function* () {
      const { kms, vault } = yield* account
      const { id } = vault.addKey()
      const { name } = yield* kms.publicKey(`azure-key-vault:${id.slice(0, id.lastIndexOf("/"))}`)
      assert.strictEqual(name, `azure-key-vault:${id}`)
    })
  )

  for (const what of ["throttled", "down", "disabled"] as const) {
    it.effect(`may succeed later when the vault or the key is ${what}`, () =>
      Effect.gen(function* () {
        const { service, vault } = yield* account
        const { id } = vault.addKey()
        yield* service.sign(id, DIGEST)
        vault.calls.length = 0
        vault.always = VAULT_FAULTS[what]
        assert.instanceOf(yield* Effect.flip(service.sign(id, DIGEST)), KeyManagementUnavailable)
        assert.isAtMost(vault.calls.length, 3)
        vault.always = undefined
        assert.lengthOf(yield* service.sign(id, DIGEST), 64)
      })
    )
  }

  for (const what of ["denied", "missing"] as const) {
    it.effect(`is refused when the key is ${what}`, () =>
      Effect.gen(function* () {
        const { service, vault } = yield* account
        const { id } = vault.addKey()
        vault.always = VAULT_FAULTS[what]
        const fault = yield* Effect.flip(service.sign(id, DIGEST))
        assert.instanceOf(fault, KeyManagementRefused)
        assert.include(fault.detail, id)
      })
    )
  }

  it.effect("refuses keys of another kind, and names that are none", () =>
    Effect.gen(function* () {
      const { service, vault } = yield* account
      const keys = [
        vault.addKey({ type: "RSA" }),
        vault.addKey({ curve: "P-384" }),
        vault.addKey({ operations: ["verify"] }),
        { id: "https://example.com" },
        { id: "key" }
      ]
      for (const { id } of keys)
        assert.instanceOf(yield* Effect.flip(service.publicKey(id)), KeyManagementRefused)
    })
  )

  it.effect("ends when nothing comes within its time", () =>
    Effect.gen(function* () {
      const { service, vault } = yield* account
      vault.always = "silence"
      const call = yield* Effect.forkChild(Effect.flip(service.sign(vault.addKey().id, DIGEST)), {
        startImmediately: true
      })
      yield* TestClock.adjust("4 seconds")
      assert.match((yield* Fiber.join(call)).detail, /within 4000 ms/u)
    })
  )

  it.effect("encrypts a master key and decrypts it", () =>
    Effect.gen(function* () {
      const { kms, vault } = yield* account
      const { id } = vault.addKey({ type: "RSA" })
      const text = yield* kms.newMasterKey(`azure-key-vault:${id}`)
      assert.isTrue(isEncryptedMasterKey(text))
      assert.lengthOf(Redacted.value(yield* kms.openMasterKey(text)), 32)
      const ofSigning = yield* Effect.flip(kms.newMasterKey(`azure-key-vault:${vault.addKey().id}`))
      assert.instanceOf(ofSigning, KeyManagementRefused)
    })
  )
})
