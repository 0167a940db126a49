import type { PageWords } from "./PageWords.ts"

const NO_PASSKEY_ALLOWED =
  "You have no passkey here any more, and this link does not let you create one. Nothing has been approved. Go back to where you came from and ask for a new link."

export const ENGLISH: PageWords = {
  title: "Do you approve this?",
  introduction: "If anything here is not as you expect it, decline.",
  test: "Test environment: nothing real is approved here.",
  timeLimit: "Time left to decide:",
  timeLimitReason: "For your safety this link works for a few minutes only. You can ask for a new one.",
  details: "What exactly you approve",
  detailsReason: "Your passkey signs these words and no others.",
  ahead: {
    register:
      "You approve with a passkey. You have none here yet, so your device asks you twice: first to create a passkey, then to approve with it. Each time you use your fingerprint, your face or your screen lock.",
    approve:
      "You approve with your passkey. Your device asks for your fingerprint, your face or your screen lock. Nothing is approved before that.",
    none: NO_PASSKEY_ALLOWED
  },
  approve: {
    register: "Create a passkey and approve",
    approve: "Approve with your passkey"
  },
  decline: "Decline",
  lostPasskey: "I no longer have this passkey",
  lostPasskeyText:
    "Then you cannot approve this now. Go back to where you came from: there you can prove who you are in another way and get a link that lets you create a new passkey.",
  goBack: "Go back without deciding",
  noButtons:
    "If you see no buttons here, this browser is too old for passkeys, or could not load the page completely. Open the link in a current browser. Nothing has been approved.",
  noScript:
    "JavaScript is switched off, and passkeys do not work without it. Switch it on for this page, or open the link in another browser. Nothing has been approved.",
  closed: {
    unknown: {
      title: "This link is not known",
      text: "It may be incomplete. Open it again where you got it, or ask for a new one there."
    },
    expired: {
      title: "The time has run out",
      text: "Nothing was approved with this link. You can ask for a new one where you came from."
    },
    replaced: {
      title: "A newer link has replaced this one",
      text: "Nothing was approved with this one. Use the newer link, or ask for another where you came from."
    },
    withdrawn: {
      title: "This request was withdrawn",
      text: "Your approval is no longer needed. Nothing was approved with this link."
    },
    used: {
      title: "This link was used already",
      text: "It takes a single answer. What was decided is shown where you came from."
    },
    approved: {
      title: "You have approved this",
      text: "Your approval has arrived. There is nothing left to do here."
    },
    declined: {
      title: "You have declined this",
      text: "Nothing was approved. There is nothing left to do here."
    }
  },
  home: {
    title: "Approval pages",
    text: "People come here by a link, to approve or decline a request. Without a link there is nothing to see here. If you were asked to approve something, open the link where you got it."
  },
  unavailableTitle: "Not available right now",
  unavailableText: "Something on our side is out of reach. Load the page again in a moment.",
  busyText: "Too many requests came from your network. Load the page again in a moment.",
  script: {
    approveWithPasskey: "Approve with your passkey",
    working: "One moment…",
    creatingPasskey: "Your browser asks you to create a passkey. Nothing is approved by that yet.",
    confirming: "Your browser asks you to confirm with your passkey.",
    declining: "Declining…",
    approved: "Approved. You are being taken back…",
    declined: "Declined. You are being taken back…",
    dialogClosed: "The passkey was not used, so nothing has been approved. You can try again.",
    oneMoreStep: "Your passkey is ready. One step is left: approve with it.",
    linesChanged: "What you approve has changed while this page was open. Read it again before you approve.",
    passkeyRefused: "This passkey could not be verified, so nothing has been approved. Try again.",
    passkeyUnsupported:
      "This device cannot make or use a passkey with a screen lock, fingerprint or face. Nothing has been approved. Set up a screen lock, or open the link on another device.",
    passkeyFailed: "Your browser could not use a passkey here. Nothing has been approved.",
    noPasskeys:
      "This browser does not support passkeys, so you cannot approve here. Open the link in a current browser. You can still decline.",
    noPasskeyAllowed: NO_PASSKEY_ALLOWED,
    otherBrowser:
      "You began to answer this in another browser. Go on there, or go back to where you came from and ask for a new link.",
    tryAgain: "We do not know whether that worked. Check your connection and try again.",
    oneMinuteLeft: "One minute is left to decide.",
    twentySecondsLeft: "20 seconds are left to decide.",
    goBack: "Go back to where you came from",
    endTitle: "The time has run out",
    endText:
      "Our service cannot be reached at the moment, so we cannot say what was decided. It is shown where you came from."
  }
}
