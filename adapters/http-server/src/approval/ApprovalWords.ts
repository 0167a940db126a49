/** What the script of the page says. A language is complete or it does not compile. */
export interface ScriptWords {
  readonly approve: string
  readonly approveWithPasskey: string
  readonly working: string
  readonly creatingPasskey: string
  readonly confirming: string
  readonly declining: string
  readonly returning: string
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
  readonly closedTitle: string
  readonly closedText: string
  readonly expiredTitle: string
  readonly expiredText: string
}

/** All words of the approval page but the lines of the statement, which are what is signed. */
export interface PageWords {
  readonly title: string
  readonly introduction: string
  readonly timeLimit: string
  readonly timeLimitReason: string
  readonly details: string
  readonly howPasskeysWork: string
  readonly decline: string
  readonly noButtons: string
  readonly noScript: string
  readonly closedTitle: string
  readonly closedText: string
  readonly unavailableTitle: string
  readonly unavailableText: string
  readonly script: ScriptWords
}

const CLOSED = {
  closedTitle: "This link is closed",
  closedText:
    "It was used already, was replaced by a newer one, or its time has run out. Nothing more can be approved with it. Go back to where you came from: what you decided is shown there, and you can ask for a new link."
}

export const ENGLISH_WORDS: PageWords = {
  title: "Do you approve this?",
  introduction: "Read what you are asked to approve. If anything is not as you expect it, decline.",
  timeLimit: "Time left to decide:",
  timeLimitReason: "For your safety this link works for a few minutes only. You can ask for a new one.",
  details: "What you approve",
  howPasskeysWork:
    "You approve with a passkey: your fingerprint, your face, or the screen lock of your device. If you have none here yet, you create one first.",
  decline: "Decline",
  noButtons:
    "If you see no buttons here, this browser is too old for passkeys, or could not load the page completely. Open the link in a current browser. Nothing has been approved.",
  noScript:
    "JavaScript is switched off, and passkeys do not work without it. Switch it on for this page, or open the link in another browser. Nothing has been approved.",
  ...CLOSED,
  unavailableTitle: "Not available right now",
  unavailableText:
    "Something on our side is out of reach. Nothing has been approved. Load the page again in a moment.",
  script: {
    approve: "Approve with a passkey",
    approveWithPasskey: "Approve with your passkey",
    working: "One moment…",
    creatingPasskey: "Your browser asks you to create a passkey.",
    confirming: "Your browser asks you to confirm with your passkey.",
    declining: "Declining…",
    returning: "Done. You are being taken back…",
    dialogClosed: "The passkey was not used, so nothing has been approved. You can try again.",
    oneMoreStep: "Your passkey is ready. One step is left: approve with it.",
    linesChanged: "What you approve has changed while this page was open. Read it again before you approve.",
    passkeyRefused: "This passkey could not be verified, so nothing has been approved. Try again.",
    passkeyUnsupported:
      "This device cannot make or use a passkey with a screen lock, fingerprint or face. Nothing has been approved. Set up a screen lock, or open the link on another device.",
    passkeyFailed: "Your browser could not use a passkey here. Nothing has been approved.",
    noPasskeys:
      "This browser does not support passkeys, so you cannot approve here. Open the link in a current browser. You can still decline.",
    noPasskeyAllowed:
      "You have no passkey here any more, and this link does not let you create one. Nothing has been approved. Go back to where you came from and ask for a new link.",
    otherBrowser:
      "You began to answer this in another browser. Go on there, or ask for a new link where you came from.",
    tryAgain: "That did not work, and it may not have reached us. Check your connection and try again.",
    oneMinuteLeft: "One minute is left to decide.",
    ...CLOSED,
    expiredTitle: "The time has run out",
    expiredText: "This link cannot be used any more. Go back to where you came from and ask for a new one."
  }
}
