import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"

/** Approves an approval URL in a test, as a browser with a new passkey would. `send` is `fetch`, or that of the service. */
export const approve = async (approvalUrl: string, send: (request: Request) => Promise<Response>) => {
  const { origin } = new URL(approvalUrl)
  const passkey = makeSoftwarePasskey({ origin })
  let cookie = ""
  const post = async (action: string, body: object) => {
    const headers = { origin, "content-type": "application/json", cookie }
    const init = { method: "POST", headers, body: JSON.stringify(body) }
    const response = await send(new Request(`${approvalUrl}/${action}`, init))
    cookie = response.headers.get("set-cookie")?.split(";")[0] ?? cookie
    if (!response.ok) throw new Error(`${action}: ${await response.text()}`)
    return response.json()
  }
  await post("passkey", passkey.register((await post("ceremony", {})).options))
  await post("approval", passkey.authenticate((await post("ceremony", {})).options))
}
