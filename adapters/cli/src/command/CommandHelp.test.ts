import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { commandHelpSource } from "../../test/CommandHelpSource.ts"

describe("CommandHelp.ts", () => {
  it("is what the commands say; npm run build:help writes it", async () => {
    const written = readFileSync(new URL("CommandHelp.ts", import.meta.url), "utf8")
    assert.strictEqual(written, await commandHelpSource())
  })
})
