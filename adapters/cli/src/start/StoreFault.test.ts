import { assert, it } from "@effect/vitest"
import { EXIT_CONFIGURATION } from "./StartFault.ts"
import { storeFault } from "./StoreFault.ts"

it("a start with a wrong master key says what to set, and where to read on if the key is lost", () => {
  const { exitCode, line } = storeFault({ _tag: "SealBroken" })
  assert.strictEqual(exitCode, EXIT_CONFIGURATION)
  assert.match(
    line,
    /^the master key does not open the signing key that the store keeps: set the one .* SVC_MASTER_KEY, .* SVC_MASTER_KEY_PREVIOUS .* docs\/operate\/keys\.md$/u
  )
})
