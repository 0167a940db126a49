import { assert, describe, it } from "@effect/vitest"
import { SealBroken, type SealContext, SecretSealer } from "@svc/domain/ports/SecretSealer"
import { Effect, type Layer, Redacted } from "effect"
import * as fc from "fast-check"
import { layer, MasterKeyInvalid } from "./SecretSealerNodeCrypto.ts"

const masterKey = (fill: number) => Redacted.make(new Uint8Array(32).fill(fill))
const first = layer({ current: masterKey(1) })
const second = layer({ current: masterKey(2) })
const rotated = layer({ current: masterKey(2), previous: masterKey(1) })

const context: SealContext = { purpose: "webhook_secret", organization: "org_1", row: "whe_1", version: 1 }
const SECRET = "svc_wh_canary-é-\u{1F600}"

type Sealer = Layer.Layer<SecretSealer, MasterKeyInvalid>
const seal = (sealer: Sealer, at = context, secret = SECRET) =>
  SecretSealer.use((service) => service.seal(at, Redacted.make(secret))).pipe(Effect.provide(sealer))
const open = (sealer: Sealer, sealed: string, at = context) =>
  SecretSealer.use((service) => service.open(at, sealed)).pipe(
    Effect.map(Redacted.value),
    Effect.provide(sealer)
  )
const isBroken = (sealer: Sealer, sealed: string, at = context) =>
  Effect.map(Effect.flip(open(sealer, sealed, at)), (error) => assert.instanceOf(error, SealBroken))

describe("SecretSealerNodeCrypto", () => {
  it.effect("opens what it sealed, whose text reveals nothing", () =>
    Effect.gen(function* () {
      for (const secret of [SECRET, "", "x".repeat(5000)]) {
        const sealed = yield* seal(first, context, secret)
        assert.strictEqual(yield* open(first, sealed), secret)
        assert.match(sealed, /^s1\.[A-Za-z0-9_-]{8}\.[A-Za-z0-9_-]+$/)
      }
      const sealed = Buffer.from((yield* seal(first)).split(".")[2]!, "base64url").toString("latin1")
      assert.notInclude(sealed, "canary")
    })
  )

  it.effect("seals the same secret differently each time", () =>
    Effect.gen(function* () {
      assert.notStrictEqual(yield* seal(first), yield* seal(first))
    })
  )

  it.effect("opens in no other context", () =>
    Effect.gen(function* () {
      const sealed = yield* seal(first)
      const elsewhere: ReadonlyArray<SealContext> = [
        { ...context, purpose: "approval_token" },
        { ...context, purpose: "signing_key" },
        { ...context, organization: "org_2" },
        { ...context, organization: "" },
        { ...context, row: "whe_2" },
        { ...context, version: 2 },
        { ...context, organization: "org_1whe", row: "_1" }
      ]
      for (const other of elsewhere) yield* isBroken(first, sealed, other)
    })
  )

  it.effect("refuses every altered character", () =>
    Effect.gen(function* () {
      const sealed = yield* seal(first)
      for (let index = 0; index < sealed.length; index++) {
        const altered = sealed[index] === "A" ? "B" : "A"
        yield* isBroken(first, sealed.slice(0, index) + altered + sealed.slice(index + 1))
      }
    })
  )

  it.effect("refuses any text that it did not seal", () =>
    Effect.gen(function* () {
      const sealed = yield* seal(first)
      const [format, id, body] = sealed.split(".") as [string, string, string]
      const others = ["", ".", "..", "s1..", `${sealed}.`, `${sealed}=`, ` ${sealed}`, `s2.${id}.${body}`]
      others.push(`${format}.${id}.`, `${format}.${id}.AAAA`, sealed.slice(0, -24), `${format}.${body}`)
      for (const text of others) yield* isBroken(first, text)
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.string(), (text) => Effect.runPromise(Effect.asVoid(isBroken(first, text)))),
          { numRuns: 100 }
        )
      )
    })
  )

  it.effect("opens with the previous master key and seals with the current one", () =>
    Effect.gen(function* () {
      const old = yield* seal(first)
      assert.strictEqual(yield* open(rotated, old), SECRET)
      const renewed = yield* seal(rotated)
      assert.strictEqual(yield* open(second, renewed), SECRET)
      yield* isBroken(second, old)
      yield* isBroken(first, renewed)
    })
  )

  it.effect("refuses a master key of another length", () =>
    Effect.gen(function* () {
      for (const length of [0, 16, 31, 33]) {
        const short = Redacted.make(new Uint8Array(length))
        const current = yield* Effect.flip(seal(layer({ current: short })))
        assert.deepStrictEqual(current, new MasterKeyInvalid({ which: "current" }))
        const previous = yield* Effect.flip(seal(layer({ current: masterKey(1), previous: short })))
        assert.deepStrictEqual(previous, new MasterKeyInvalid({ which: "previous" }))
      }
    })
  )
})
