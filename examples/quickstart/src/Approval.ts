import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import { expect, makeBrowser, say } from "./Caller.ts"

/** What the end user does on the approval page; the passkey is software here. */
export const approve = async (approvalUrl: string): Promise<void> => {
  const browser = makeBrowser(approvalUrl)
  const passkey = makeSoftwarePasskey({ origin: new URL(approvalUrl).origin })
  expect(await browser.visit(), 200)
  const first = expect(await browser.post("ceremony", {}), 200).body
  expect(await browser.post("passkey", passkey.register(first.options)), 201)
  say("the user created a passkey")
  const second = expect(await browser.post("ceremony", {}), 200).body
  for (const { label, value } of second.statement.display.lines) say(`   ${label}: ${value}`)
  const approval = await browser.post("approval", passkey.authenticate(second.options))
  const { redirect_to } = expect(approval, 200).body
  say(`the user approved exactly this and returns to ${new URL(redirect_to).origin}`)
}

/** What an end user does who does not want this. */
export const decline = async (approvalUrl: string): Promise<void> => {
  const browser = makeBrowser(approvalUrl)
  expect(await browser.post("ceremony", {}), 200)
  expect(await browser.post("decline", {}), 200)
}
