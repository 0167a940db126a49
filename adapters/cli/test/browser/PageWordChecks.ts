import { assert } from "@effect/vitest"

/** What the page must say in each case, in English, by the words that nobody can do without. */
const MEANING = {
  approved: /you have approved/iu,
  declined: /you have declined/iu,
  replaced: /newer link/iu,
  used: /used already/iu,
  unreachable: /cannot be reached/iu,
  expired: /time has run out/iu,
  otherBrowser: /another browser|other browser|different browser/iu,
  tryAgain: /again/iu,
  nothingApproved: /nothing (?:has been|was|is) approved/iu,
  outOfReach: /out of reach/iu,
  noPasskeys: /passkey/iu,
  noScript: /javascript/iu
}

/** Whether a text says what it must. */
export const assertSays = (text: string, meaning: keyof typeof MEANING): void => {
  assert.match(text, MEANING[meaning])
}
