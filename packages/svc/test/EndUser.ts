import { assert } from "@effect/vitest"
import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"

/** Sends a request as a browser would: `fetch` of a service, or that of the platform. */
export type Send = (request: Request) => Promise<Response>

/** Approves on the page of an approval link, with a new software passkey. */
export const approveOn = async (approvalUrl: string, send: Send): Promise<void> => {
  const { origin } = new URL(approvalUrl)
  const page = await send(new Request(approvalUrl, { headers: { accept: "text/html" } }))
  assert.strictEqual(page.status, 200)
  await page.text()
  let cookie = ""
  const post = async (action: string, body: object, status: number) => {
    const response = await send(
      new Request(`${approvalUrl}/${action}`, {
        method: "POST",
        headers: { origin, "content-type": "application/json", cookie },
        body: JSON.stringify(body)
      })
    )
    const text = await response.text()
    assert.strictEqual(response.status, status, text)
    cookie = response.headers.get("set-cookie")?.split(";")[0] ?? cookie
    return JSON.parse(text)
  }
  const passkey = makeSoftwarePasskey({ origin })
  const first = await post("ceremony", {}, 200)
  await post("passkey", passkey.register(first.options), 201)
  const second = await post("ceremony", {}, 200)
  await post("approval", passkey.authenticate(second.options), 200)
}
