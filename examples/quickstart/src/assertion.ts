/**
 * Prints an identity assertion for a subject, as the caller's backend would make it: `assertion.ts <subject> [--enrol]`.
 * With `--enrol` it lets a subject without an active passkey create one.
 */
import { parseArgs } from "node:util"
import { say, withCaller } from "./Caller.ts"

const { positionals, values } = parseArgs({
  options: { enrol: { type: "boolean", default: false } },
  allowPositionals: true
})
const [subject] = positionals
if (subject === undefined) {
  console.error("Name the subject: npm run --silent assertion -- user_1 [--enrol]")
  process.exitCode = 1
} else {
  await withCaller(async ({ issuer }) => say(await issuer.assertion({ subject, enrol: values.enrol })))
}
