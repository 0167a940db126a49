import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { commandHelpSource } from "../../test/CommandHelpSource.ts"
import { COMMAND_HELP } from "./CommandHelp.ts"

describe("CommandHelp.ts", () => {
  it("is what the commands say; npm run build:help writes it", async () => {
    const written = readFileSync(new URL("CommandHelp.ts", import.meta.url), "utf8")
    assert.strictEqual(written, await commandHelpSource())
  })

  it("calls the other database required where a command compares with it, and optional where it may", () => {
    const requirement = (command: string) =>
      /^ {2}SVC_OTHER_STORE\n[\s\S]*?\b(Required|Optional)\./mu.exec(COMMAND_HELP[command]!)?.[1]
    assert.strictEqual(requirement("store missing"), "Required")
    assert.strictEqual(requirement("doctor"), "Optional")
  })
})
