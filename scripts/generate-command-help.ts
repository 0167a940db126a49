/**
 * Writes down the help of every command of `svc`, so that it is printed without loading the command:
 * `npm run build:help`. Run it again when a command, an option or a setting changes; a test says when.
 */
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { commandHelpSource } from "@svc/cli/test/CommandHelpSource"

writeFileSync(
  fileURLToPath(new URL("../adapters/cli/src/command/CommandHelp.ts", import.meta.url)),
  await commandHelpSource()
)
