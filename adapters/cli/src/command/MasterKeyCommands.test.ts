import { randomBytes } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import type { SealedSecret } from "@svc/domain/ports/SealedSecrets"
import { SealedSecrets } from "@svc/domain/ports/SealedSecrets"
import { SecretSealer } from "@svc/domain/ports/SecretSealer"
import { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import { createWebhookEndpoint, rotateWebhookSecret } from "@svc/domain/programs/WebhookEndpoints"
import type { WebhookEndpoint } from "@svc/protocol/webhook/WebhookEndpoint"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { preparedStore } from "@svc/store-postgres/test/PreparedPglite"
import { harnessDeployment, harnessOrganization } from "@svc/testkit/ProgramHarness"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { ConfigProvider, Effect, Layer, Redacted, Result } from "effect"
import { masterKeyCommands } from "./MasterKeyCommands.ts"
import { signingKeyCommands } from "./SigningKeyCommands.ts"
import { runStoreCommand } from "./StoreCommand.ts"

const newKey = (): string => randomBytes(32).toString("base64url")

const sealerOf = (key: string) =>
  Layer.orDie(
    SecretSealerNodeCrypto.layer({ current: Redacted.make(Uint8Array.from(Buffer.from(key, "base64url"))) })
  )

/** What a program of a server needs that has this master key; every target is taken. */
const serverWith = (key: string) =>
  Layer.mergeAll(
    sealerOf(key),
    RandomnessNodeCrypto.layer,
    harnessDeployment,
    Layer.succeed(WebhookTransport)({ check: () => Effect.void, deliver: () => Effect.never })
  )

const newEndpoint = (key: string, organization = harnessOrganization({ id: newIdentifier("org_") })) =>
  Effect.map(
    createWebhookEndpoint({
      organization,
      idempotencyKey: crypto.randomUUID(),
      body: { url: "https://hooks.shop.example/svc" }
    }).pipe(Effect.provide(serverWith(key))),
    ({ resource }) => ({ organization, id: (resource as WebhookEndpoint).id })
  )

const run = Effect.fnUntraced(function* (name: string, env: Readonly<Record<string, string>>) {
  const command = [...masterKeyCommands, ...signingKeyCommands].find((one) => one.name === name)
  if (command === undefined) return yield* Effect.die(new Error(`there is no ${name}`))
  const context = yield* Effect.context<PostgresPorts>()
  return yield* runStoreCommand(command, [], Effect.provideContext(context)).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))
  )
})

const faultOf = (...given: Parameters<typeof run>) =>
  Effect.map(Effect.flip(run(...given)), ({ exitCode, line }) => [exitCode, line] as const)

/** Every secret of the store, its endpoints two at a time. */
const secrets = Effect.gen(function* () {
  const store = yield* SealedSecrets
  const found: Array<SealedSecret> = [...(yield* store.signingKeys)]
  for (let after: SealedSecret["context"] | undefined; ; ) {
    const page = yield* store.webhookSecrets(after, 2)
    found.push(...page)
    after = page.at(-1)?.context
    if (after === undefined) return found
  }
})

/** Places of the secrets that a master key opens. */
const openedBy = Effect.fnUntraced(function* (key: string) {
  const sealer = yield* SecretSealer.pipe(Effect.provide(sealerOf(key)))
  const places: Array<string> = []
  for (const { context, sealed } of yield* secrets) {
    const opened = yield* Effect.result(sealer.open(context, sealed))
    if (Result.isSuccess(opened)) places.push(context.row)
  }
  return places.sort()
})

layer(preparedStore, { excludeTestServices: true, timeout: "120 seconds" })("svc master-key rewrap", (it) => {
  it.effect("seals every secret under the new key, whichever endpoint of whichever organization has it", () =>
    Effect.gen(function* () {
      const [old, next, stray] = [newKey(), newKey(), newKey()]
      yield* run("signing-key rotate", { SVC_MASTER_KEY: old })
      const first = yield* newEndpoint(old)
      const ids = [first.id, (yield* newEndpoint(old, first.organization)).id, (yield* newEndpoint(old)).id]
      // A server that has the new key already.
      const early = yield* newEndpoint(next)
      const all = yield* openedBy(old)
      assert.includeMembers(all, ids)
      assert.lengthOf(all, ids.length + 1)

      const keys = { SVC_MASTER_KEY: next, SVC_MASTER_KEY_PREVIOUS: old }
      const done = { secrets: all.length + 1, previous_needed_for_seconds: 300 }
      assert.deepStrictEqual(yield* run("master-key rewrap", keys), { ...done, rewrapped: all.length })
      assert.deepStrictEqual(yield* openedBy(next), [...all, early.id].sort())
      assert.deepStrictEqual(yield* openedBy(old), [])
      assert.deepStrictEqual(yield* run("master-key rewrap", keys), { ...done, rewrapped: 0 })
      // The signing key is under the new one, so that a rotation works with it alone.
      yield* run("signing-key rotate", { SVC_MASTER_KEY: next })

      const lost = yield* newEndpoint(stray)
      const [code, line] = yield* faultOf("master-key rewrap", {
        SVC_MASTER_KEY: newKey(),
        SVC_MASTER_KEY_PREVIOUS: next
      })
      assert.strictEqual(code, 78)
      assert.include(line, `neither master key opens secret of ${lost.id};`)
      assert.match(line, /have the owners of these webhook endpoints rotate their secrets$/u)
      assert.notInclude(line, "signing key")
      assert.deepStrictEqual(yield* openedBy(next), [])
    })
  )

  it.effect("says what to do about the signing key too, where neither key opens that", () =>
    Effect.gen(function* () {
      const [code, line] = yield* faultOf("master-key rewrap", {
        SVC_MASTER_KEY: newKey(),
        SVC_MASTER_KEY_PREVIOUS: newKey()
      })
      assert.strictEqual(code, 78)
      assert.match(line, /^neither master key opens signing key /u)
      assert.match(line, /for the signing key go by "A lost master key" in docs\/operate\/keys\.md/u)
    })
  )

  it.effect("leaves alone what was replaced meanwhile, and makes whoever replaces a secret start over", () =>
    Effect.gen(function* () {
      const key = newKey()
      const { id, organization } = yield* newEndpoint(key)
      const store = yield* SealedSecrets
      const read = Effect.map(secrets, (found) => found.find(({ context }) => context.row === id)!)
      const before = yield* read
      yield* rotateWebhookSecret({ organization, endpointId: id, idempotencyKey: "rotate", body: {} }).pipe(
        Effect.provide(serverWith(key))
      )
      assert.isFalse(yield* store.replace(before, "s1.other.text"))
      const after = yield* read
      assert.deepInclude(after.context, { version: 2 })
      assert.isTrue(yield* store.replace(after, "s1.other.text"))
      assert.strictEqual((yield* read).sealed, "s1.other.text")
      assert.isFalse(yield* store.replace(after, "s1.other.text"))
    })
  )

  it.effect("asks for both keys", () =>
    Effect.gen(function* () {
      const [code, line] = yield* faultOf("master-key rewrap", { SVC_MASTER_KEY: newKey() })
      assert.strictEqual(code, 78)
      assert.include(line, "SVC_MASTER_KEY_PREVIOUS")
    })
  )
})
