import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON
} from "@simplewebauthn/browser"
import type { ApprovalStatement } from "@svc/domain/approval/ApprovalStatement"

/** What the server asks for next. */
export type Step =
  | { readonly step: "register"; readonly options: PublicKeyCredentialCreationOptionsJSON }
  | {
      readonly step: "approve"
      readonly options: PublicKeyCredentialRequestOptionsJSON
      readonly statement: ApprovalStatement
    }

/** The actions of the page: what each sends, and what it gets. */
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

/** A request that was not answered as hoped. */
export class Refusal extends Error {
  /** That of the problem, or `unreachable`. */
  readonly code: string
  constructor(code: string) {
    super(code)
    this.code = code
  }
}

/** An answer that takes longer, in milliseconds, does not come. */
const ANSWER_TIMEOUT_MS = 20_000

let owed = 0

/** Whether an answer is owed: meanwhile the page does not know how things stand. */
export const isSending = (): boolean => owed > 0

/**
 * Sends one action in the language of the page. The mode stays the default: in any other, a page that sends no referrer
 * sends no Origin either.
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

/** A look that takes longer, in milliseconds, is not answered. */
const LOOK_TIMEOUT_MS = 5_000

/** Whether the service can say how things stand: that the link is open, or that it is closed. */
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
