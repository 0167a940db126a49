import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { KeyManagement } from "./KeyManagement.ts"

it.effect("a process without a key management service is refused every use of one", () =>
  Effect.gen(function* () {
    const keys = yield* KeyManagement
    const name = "aws-kms:key"
    for (const use of [
      keys.publicKey(name),
      keys.sign(name, new Uint8Array(32)),
      keys.newMasterKey(name),
      keys.openMasterKey("encrypted")
    ] as ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string; readonly detail: string }>>) {
      const { _tag, detail } = yield* Effect.flip(use)
      assert.deepStrictEqual(
        [_tag, detail],
        ["KeyManagementRefused", "no key management service is set up here"]
      )
    }
  })
)
