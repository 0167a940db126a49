import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"

const STEP_TIMEOUT_MILLISECONDS = 30_000

export interface PageAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: shapes are those of the interface
  readonly body: any
}

const browserOn = (approvalUrl: string) => {
  let cookie: string | undefined
  return async (step: "ceremony" | "passkey" | "approval", body: object): Promise<PageAnswer> => {
    const response = await fetch(`${approvalUrl}/${step}`, {
      method: "POST",
      redirect: "manual",
      signal: AbortSignal.timeout(STEP_TIMEOUT_MILLISECONDS),
      headers: {
        "content-type": "application/json",
        origin: new URL(approvalUrl).origin,
        ...(cookie === undefined ? {} : { cookie })
      },
      body: JSON.stringify(body)
    })
    cookie = response.headers.getSetCookie()[0]?.split(";")[0] ?? cookie
    return { status: response.status, body: await response.json() }
  }
}

/** An end user with one software passkey, who approves whatever is shown. */
export interface EndUser {
  /** Whether the page said that it is approved. A process that is killed meanwhile leaves that open. */
  readonly approve: (approvalUrl: string) => Promise<boolean>
  /** Goes as far as the passkey's answer, and gives what sends it. `undefined`: the page did not lead that far. */
  readonly prepare: (approvalUrl: string) => Promise<(() => Promise<PageAnswer>) | undefined>
}

export const makeEndUser = (): EndUser => {
  // The origin is of the server that was asked, the relying party is the same on all.
  const passkey = makeSoftwarePasskey({ origin: "http://localhost" })
  const prepare: EndUser["prepare"] = async (approvalUrl) => {
    const send = browserOn(approvalUrl)
    const { origin } = new URL(approvalUrl)
    let step = await send("ceremony", {})
    if (step.status === 200 && step.body.step === "register") {
      const registered = await send("passkey", passkey.register(step.body.options, { origin }))
      if (registered.status !== 201) return undefined
      step = await send("ceremony", {})
    }
    if (step.status !== 200) return undefined
    const answer = passkey.authenticate(step.body.options, { origin })
    return () => send("approval", answer)
  }
  return {
    prepare,
    approve: async (approvalUrl) => {
      try {
        const approval = await (await prepare(approvalUrl))?.()
        return approval?.status === 200 && typeof approval.body.redirect_to === "string"
      } catch {
        return false
      }
    }
  }
}
