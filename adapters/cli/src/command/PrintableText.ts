/** Texts that others wrote, for a terminal: as they are, it would obey some, and show others in another order. */

/** The text on one line, with nothing in it that a terminal obeys. */
export const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd")

/** What JSON need not escape. */
const OBEYED = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu

const escaped = (text: string): string =>
  text
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("")

/** A value as JSON, with nothing in it that a terminal obeys. */
export const printableJson = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replaceAll(OBEYED, escaped)
