import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON
} from "@simplewebauthn/browser"
import type { ApprovalStatement } from "@svc/domain/approval/ApprovalStatement"

/** The next step of the ceremony. */
export type Step =
  | { readonly step: "register"; readonly options: PublicKeyCredentialCreationOptionsJSON }
  | {
      readonly step: "approve"
      readonly options: PublicKeyCredentialRequestOptionsJSON
      readonly statement: ApprovalStatement
    }

/** The actions of the page, with the bodies of request and response. */
interface Actions {
  readonly ceremony: { readonly body: Record<string, never>; readonly answer: Step }
  readonly passkey: { readonly body: RegistrationResponseJSON; readonly answer: unknown }
  readonly approval: {
    readonly body: AuthenticationResponseJSON
    readonly answer: { readonly redirect_to: string }
  }
  readonly decline: {
    readonly body: Record<string, never>
    readonly answer: { readonly redirect_to: string }
  }
}

/** A request that was refused or not answered. */
export class Refusal extends Error {
  /** The code of the problem, or `unreachable`. */
  readonly code: string
  constructor(code: string) {
    super(code)
    this.code = code
  }
}

/** Timeout of an action, in milliseconds. */
const ANSWER_TIMEOUT_MS = 20_000

let owed = 0

/** Whether an answer is pending, so that the page does not know the present state. */
export const isSending = (): boolean => owed > 0

/**
 * Sends an action in the language of the page. It relies on the default mode: in another one, a page without a referrer
 * would send no Origin.
 */
export const post = async <Name extends keyof Actions>(
  action: Name,
  body: Actions[Name]["body"]
): Promise<Actions[Name]["answer"]> => {
  owed++
  const patience = new AbortController()
  const timer = setTimeout(() => patience.abort(), ANSWER_TIMEOUT_MS)
  try {
    const response = await fetch(`${location.pathname}/${action}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        "accept-language": document.documentElement.lang
      },
      body: JSON.stringify(body),
      redirect: "error",
      signal: patience.signal
    })
    const answer = await response.json()
    if (response.ok) return answer
    throw new Refusal(String(answer.code))
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal("unreachable")
  } finally {
    clearTimeout(timer)
    owed--
  }
}

/** Timeout of the check whether the service is reachable, in milliseconds. */
const LOOK_TIMEOUT_MS = 5_000

/** Whether the service can be reached and knows whether the link is open or closed. */
export const canBeAsked = async (): Promise<boolean> => {
  try {
    const signal = AbortSignal.timeout(LOOK_TIMEOUT_MS)
    const { ok, status } = await fetch(location.pathname, { method: "HEAD", cache: "no-store", signal })
    return ok || status === GONE
  } catch {
    return false
  }
}

const GONE = 410
