import type { WayToApprove } from "@svc/domain/programs/ApprovalCeremony"

/** What the script of the page says. */
export interface ScriptWords {
  /** Label of the button once a passkey was created here. */
  readonly approveWithPasskey: string
  readonly working: string
  /** While the dialogs of the browser are open. */
  readonly creatingPasskey: string
  readonly confirming: string
  readonly declining: string
  /** After the answer, until the browser has gone back. */
  readonly approved: string
  readonly declined: string
  readonly dialogClosed: string
  readonly oneMoreStep: string
  readonly linesChanged: string
  readonly passkeyRefused: string
  readonly passkeyUnsupported: string
  readonly passkeyFailed: string
  readonly noPasskeys: string
  readonly noPasskeyAllowed: string
  readonly otherBrowser: string
  readonly tryAgain: string
  readonly oneMinuteLeft: string
  /** The link to the caller, once there is nothing left to decide. */
  readonly goBack: string
  readonly closedTitle: string
  readonly closedText: string
  readonly expiredTitle: string
}

/**
 * All words of the approval page but the lines of the statement, which are what is signed. A language is complete or it
 * does not compile.
 */
export interface PageWords {
  readonly title: string
  readonly introduction: string
  /** Shown in the test environment. */
  readonly test: string
  readonly timeLimit: string
  readonly timeLimitReason: string
  readonly details: string
  readonly detailsReason: string
  /** What is about to happen, before a button is pressed. */
  readonly ahead: Readonly<Record<WayToApprove, string>>
  /** Label of the button that approves. */
  readonly approve: Readonly<Record<Exclude<WayToApprove, "none">, string>>
  readonly decline: string
  /** A question that opens to the text beside it. */
  readonly lostPasskey: string
  readonly lostPasskeyText: string
  /** A link to the caller, which leaves everything as it is. */
  readonly goBack: string
  readonly noButtons: string
  readonly noScript: string
  readonly closedTitle: string
  readonly closedText: string
  readonly unavailableTitle: string
  readonly unavailableText: string
  readonly script: ScriptWords
}
