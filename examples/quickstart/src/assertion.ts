/** Prints an identity assertion for a subject, as the caller's backend would make it: `assertion.ts <subject>`. */
import { say, withCaller } from "./Caller.ts"

const [subject] = process.argv.slice(2)
if (subject === undefined) {
  console.error("Name the subject: npm run --silent assertion -- user_1")
  process.exitCode = 1
} else {
  await withCaller(async ({ issuer }) => say(await issuer.assertion({ subject })))
}
