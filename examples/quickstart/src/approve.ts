/**
 * Approves the mandate of an approval URL with a software passkey instead of a person with a browser, or declines it:
 * `approve.ts <approval_url> [--decline]`. The passkey is new each time, so the subject must not have one yet.
 */
import { EXIT_USAGE, isHelpPrinted } from "./Caller.ts"
import { endWithOutput } from "./ClosedOutput.ts"
import { approve, decline } from "./EndUser.ts"

const HELP = `npm run --silent approve -- <approval_url> [--decline]: approves the mandate of an approval URL with a software passkey, in
place of a person with a browser.

  --decline   declines it instead`

const decide = async ([approvalUrl, choice, ...others]: ReadonlyArray<string>): Promise<void> => {
  const isKnown = (choice === undefined || choice === "--decline") && others.length === 0
  if (approvalUrl === undefined || !isKnown) {
    console.error(
      "Name the approval_url: npm run --silent approve -- http://localhost:8081/approve/... [--decline]"
    )
    process.exitCode = EXIT_USAGE
    return
  }
  await (choice === "--decline" ? decline : approve)(approvalUrl).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  })
}

endWithOutput()
if (!isHelpPrinted(HELP)) await decide(process.argv.slice(2))
