/*
 * Characters that show nothing, or that change how their neighbours are shown. Variation selectors are left alone: they
 * only choose between forms of the character before them.
 */
const INVISIBLE =
  /(?![\ufe00-\ufe0f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

/** Text of a caller with control, bidi and zero-width characters made visible as U+XXXX (part 6). */
export const visibleText = (text: string): string =>
  text.replace(
    INVISIBLE,
    (character) => `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`
  )
