/*
 * Characters that show nothing, or that change how their neighbours are shown. U+2800 is a symbol, by its category, and an
 * empty one. Only where it belongs, after a pictograph or in a keycap, a selector between emoji and text form is left alone.
 */
const INVISIBLE =
  /(?!(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f])(?!(?<=[0-9#*])\ufe0f\u20e3)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Text of a caller with control, bidi and zero-width characters made visible as U+XXXX (part 6). */
export const visibleText = (text: string): string =>
  text.replace(
    INVISIBLE,
    (character) => `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`
  )
