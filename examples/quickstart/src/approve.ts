/**
 * Approves, or with `--decline` declines, the mandate of an approval URL with a software passkey, in place of a person
 * with a browser: `approve.ts <approval_url> [--decline]`. The passkey is new each time, so the subject must have none.
 */
import { endWithOutput } from "./ClosedOutput.ts"
import { approve, decline } from "./EndUser.ts"

endWithOutput()
const [approvalUrl, choice] = process.argv.slice(2)
if (approvalUrl === undefined) {
  console.error("Name the approval_url: npm run --silent approve -- http://localhost:8081/approve/...")
  process.exitCode = 1
} else {
  await (choice === "--decline" ? decline : approve)(approvalUrl).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  })
}
