/**
 * Prints an identity assertion for a subject, as the caller's backend would make it: `assertion.ts <subject> [--enrol]`.
 * With `--enrol` it lets a subject without an active passkey create one.
 */
import { parseArgs } from "node:util"
import { EXIT_USAGE, isHelpPrinted, say, withCaller } from "./Caller.ts"

const HELP = `npm run --silent assertion -- <subject> [--enrol]: prints an identity assertion for a subject, as the caller's backend
would make it.

  --enrol   lets a subject without an active passkey create one`

const given = () => {
  try {
    return parseArgs({ options: { enrol: { type: "boolean", default: false } }, allowPositionals: true })
  } catch {
    return undefined
  }
}

if (!isHelpPrinted(HELP)) {
  const options = given()
  const subject = options?.positionals[0]
  if (options === undefined || subject === undefined) {
    console.error("Name the subject, and no other option: npm run --silent assertion -- user_1 [--enrol]")
    process.exitCode = EXIT_USAGE
  } else {
    const { enrol } = options.values
    await withCaller(async ({ issuer }) => say(await issuer.assertion({ subject, enrol })))
  }
}
