import {
  CeremonyAborted,
  makeSoftwarePasskey,
  type SoftwareAssertion,
  type SoftwarePasskey
} from "./SoftwarePasskey.ts"

const expectStatus = async (response: Response, status: number, what: string): Promise<string> => {
  const text = await response.text()
  if (response.status === status) return text
  const isPage = (response.headers.get("content-type") ?? "").startsWith("text/html")
  const reason = isPage ? "a page, as for a session that has ended or a link that was used" : text
  throw new Error(`${what} is ${response.status}, not ${status}: ${reason}`)
}

const OTHER_PASSKEY =
  "The end user has a passkey already, and approves with that one alone, but this is another. Make one for each end user with makeSoftwarePasskey({ origin }), of the approval page's origin, and give the same one to every approveOnPage for that user."

const signed = (ceremony: () => SoftwareAssertion): SoftwareAssertion => {
  try {
    return ceremony()
  } catch (cause) {
    if (cause instanceof CeremonyAborted && cause.reason === "NotAllowedError")
      throw new Error(OTHER_PASSKEY, { cause })
    throw cause
  }
}

const originOf = (approvalUrl: string): string => {
  if (!URL.canParse(approvalUrl))
    throw new TypeError("approveOnPage takes the approval_url of a session as its first argument")
  return new URL(approvalUrl).origin
}

/**
 * Approves an approval URL in a test, as a browser would on the page. `send` is `fetch`, or the one of a service. `passkey` is
 * the end user's, which is registered unless it is already; default: a new one, with which
 * nobody approves who has one already. Rejects at the first response that is not what the page gets.
 *
 * @example
 * ```ts
 * import { approveOnPage } from "@svc/testkit/ApproveOnPage"
 *
 * await approveOnPage(session.approval_url, service.fetch)
 * ```
 */
export const approveOnPage = async (
  approvalUrl: string,
  send: (request: Request) => Promise<Response>,
  passkey: SoftwarePasskey = makeSoftwarePasskey({ origin: originOf(approvalUrl) })
): Promise<void> => {
  const origin = originOf(approvalUrl)
  if (typeof send !== "function")
    throw new TypeError("approveOnPage takes fetch, or service.fetch, as its second argument")
  await expectStatus(
    await send(new Request(approvalUrl, { headers: { accept: "text/html" } })),
    200,
    "the page"
  )
  let cookie = ""
  const post = async (action: string, body: object, status: number) => {
    const headers = { origin, "content-type": "application/json", cookie }
    const init = { method: "POST", headers, body: JSON.stringify(body) }
    const response = await send(new Request(`${approvalUrl}/${action}`, init))
    const text = await expectStatus(response, status, action)
    cookie = response.headers.get("set-cookie")?.split(";")[0] ?? cookie
    return JSON.parse(text)
  }
  let ceremony = await post("ceremony", {}, 200)
  if (ceremony.step === "register") {
    await post("passkey", passkey.register(ceremony.options), 201)
    ceremony = await post("ceremony", {}, 200)
  }
  await post(
    "approval",
    signed(() => passkey.authenticate(ceremony.options)),
    200
  )
}
