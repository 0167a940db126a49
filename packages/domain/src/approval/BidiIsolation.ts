/** U+2068, first strong isolate: the text after it is laid out separately, in its own direction. */
const FIRST_STRONG_ISOLATE = "\u2068"
/** U+2069, pop directional isolate. */
const POP_DIRECTIONAL_ISOLATE = "\u2069"

/** Blocks of Unicode whose characters are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/**
 * Isolates a text that is inserted into another, so that it does not reorder its neighbours (Unicode Bidirectional
 * Algorithm, UAX 9). Left-to-right text in left-to-right surroundings is returned unchanged. The text must contain no
 * isolates.
 */
export const isolated = (text: string, surrounding: "ltr" | "rtl"): string =>
  surrounding === "rtl" || RIGHT_TO_LEFT.test(text)
    ? FIRST_STRONG_ISOLATE + text + POP_DIRECTIONAL_ISOLATE
    : text
