import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import { expect, makeBrowser, say } from "./Caller.ts"

const open = async (approvalUrl: string) => {
  if (!URL.canParse(approvalUrl)) throw new Error("That is not an approval_url; an approval session has one.")
  const browser = makeBrowser(approvalUrl)
  const page = await browser.visit()
  if (page.status === 410) throw new Error("The approval link is closed: open another approval session.")
  expect(page, 200)
  return browser
}

/** Approves on the approval page as an end user would, with a new software passkey. */
export const approve = async (approvalUrl: string): Promise<void> => {
  const browser = await open(approvalUrl)
  const passkey = makeSoftwarePasskey({ origin: new URL(approvalUrl).origin })
  const first = expect(await browser.post("ceremony", {}), 200).body
  if (first.step !== "register") {
    throw new Error("This subject has a passkey already, and only that can approve: use another subject.")
  }
  expect(await browser.post("passkey", passkey.register(first.options)), 201)
  say("the user created a passkey")
  const second = expect(await browser.post("ceremony", {}), 200).body
  for (const { label, value } of second.statement.display.lines) say(`   ${label}: ${value}`)
  const approval = await browser.post("approval", passkey.authenticate(second.options))
  const { redirect_to } = expect(approval, 200).body
  say(`the user approved exactly this and returns to ${new URL(redirect_to).origin}`)
}

/** Declines on the approval page. */
export const decline = async (approvalUrl: string): Promise<void> => {
  const browser = await open(approvalUrl)
  expect(await browser.post("ceremony", {}), 200)
  expect(await browser.post("decline", {}), 200)
  say("the user declined")
}
