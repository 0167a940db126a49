import type { ClosedCause } from "@svc/domain/approval/ClosedCause"
import type { WayToApprove } from "@svc/domain/approval/SubjectPasskeys"

/** The text of a page without buttons. */
export interface Notice {
  readonly title: string
  readonly text: string
}

/** Texts that the script of the page shows. */
export interface ScriptWords {
  /** Label of the button after a passkey was created. */
  readonly approveWithPasskey: string
  readonly working: string
  /** While a dialog of the browser is open. */
  readonly creatingPasskey: string
  readonly confirming: string
  readonly declining: string
  /** After the decision, until the browser has been redirected. */
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
  /** The link to the caller after the decision. */
  readonly goBack: string
  /** When the time has run out and the service, which knows the decision, cannot be reached. */
  readonly endTitle: string
  readonly endText: string
}

/** All texts of the approval page except the lines of the statement, which are signed. */
export interface PageWords {
  readonly title: string
  readonly introduction: string
  /** Shown in the test environment. */
  readonly test: string
  readonly timeLimit: string
  readonly timeLimitReason: string
  readonly details: string
  readonly detailsReason: string
  /** What will happen when a button is pressed. */
  readonly ahead: Readonly<Record<WayToApprove, string>>
  /** Label of the button that approves. */
  readonly approve: Readonly<Record<Exclude<WayToApprove, "none">, string>>
  readonly decline: string
  /** The summary of a collapsed section with `lostPasskeyText`. */
  readonly lostPasskey: string
  readonly lostPasskeyText: string
  /** The link to the caller without a decision. */
  readonly goBack: string
  readonly noButtons: string
  readonly noScript: string
  /** Why a link is closed, whether anything was approved with it, and what to do now. */
  readonly closed: Readonly<Record<ClosedCause, Notice>>
  /** The purpose of the site, for visitors without a link. */
  readonly home: Notice
  readonly unavailableTitle: string
  readonly unavailableText: string
  /** Instead of `unavailableText`, after too many invalid links from the client's address. */
  readonly busyText: string
  readonly script: ScriptWords
}
