import type { ClosedCause } from "@svc/domain/approval/ClosedCause"
import type { WayToApprove } from "@svc/domain/approval/SubjectPasskeys"

/** What a page without buttons says. */
export interface Notice {
  readonly title: string
  readonly text: string
}

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
  readonly twentySecondsLeft: string
  /** The link to the caller, once there is nothing left to decide. */
  readonly goBack: string
  /** When the time has run out and the service, which knows what was decided, cannot be reached. */
  readonly endTitle: string
  readonly endText: string
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
  /** Why a link is closed, whether anything was approved with it, and what can be done now. */
  readonly closed: Readonly<Record<ClosedCause, Notice>>
  /** What this site is for, to somebody who comes without a link. */
  readonly home: Notice
  readonly unavailableTitle: string
  readonly unavailableText: string
  /** In the place of `unavailableText`, where the reader's address has sent too many links that open nothing. */
  readonly busyText: string
  readonly script: ScriptWords
}
