/*
 * Characters that are invisible or change how their neighbours are shown. U+2800, the blank Braille pattern, is a symbol by
 * its category.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Spaces that look like U+0020 or, at the end of a text, like nothing. */
const OTHER_SPACE = /(?![ ])\p{Zs}/u
const MARK = /\p{M}/u
const PICTOGRAPH = /\p{Extended_Pictographic}/u
const HEX_DIGIT = /[0-9A-F]/u
const KEYCAP = /^[0-9#*]\ufe0f\u20e3/u
/** The form of an escape. A text that holds it literally has the U escaped, so that the two differ. */
const ESCAPE = /^U\+[0-9A-F]{4}/u

const hexOf = (character: string): string =>
  character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")

const isInvisibleAt = (hex: string): boolean => {
  const point = Number.parseInt(hex, 16)
  return point <= 0x10ffff && INVISIBLE.test(String.fromCodePoint(point))
}

/** Whether an emoji or text variation selector has an effect: after a pictograph, or in a keycap. */
const selects = (characters: ReadonlyArray<string>, at: number): boolean => {
  const [before = "", character = "", after = ""] = characters.slice(Math.max(0, at - 1), at + 2)
  if (at === 0 || (character !== "\ufe0f" && character !== "\ufe0e")) return false
  return PICTOGRAPH.test(before) ? !HEX_DIGIT.test(before) : KEYCAP.test(before + character + after)
}

/**
 * Replaces characters by escapes of their code points, injectively: no literal text looks like an escape, and no escape
 * merges with what follows it.
 */
const escaped = (
  characters: ReadonlyArray<string>,
  isHidden: (character: string, at: number) => boolean
): string => {
  let shown = ""
  let open = ""
  for (const [at, character] of characters.entries()) {
    const goesOn = open !== "" && HEX_DIGIT.test(character)
    const looksLikeEscape = character === "U" && ESCAPE.test(characters.slice(at, at + 6).join(""))
    if (isHidden(character, at) || looksLikeEscape || (goesOn && isInvisibleAt(open + character))) {
      open = hexOf(character)
      shown += `U+${open}`
    } else {
      open = goesOn ? open + character : ""
      shown += character
    }
  }
  return shown
}

const isHiddenAt = (characters: ReadonlyArray<string>, at: number): boolean =>
  INVISIBLE.test(characters[at] ?? "") && !selects(characters, at)

/** Whether a text has characters that are invisible or change how their neighbours are shown. */
export const hidesCharacters = (text: string): boolean => {
  const characters = [...text]
  return characters.some((_, at) => isHiddenAt(characters, at))
}

/** Text of a caller with control, bidi and zero-width characters made visible as U+XXXX (part 6). */
export const visibleText = (text: string): string => {
  const characters = [...text]
  return escaped(characters, (_, at) => isHiddenAt(characters, at))
}

/**
 * A caller's text that is compared byte for byte (an action, a merchant, an attribute), shown so that no two differ only in
 * what cannot be seen: spaces other than U+0020, leading, trailing and repeated spaces, variation selectors, and marks that
 * have a precomposed form are escaped too.
 */
export const exactText = (text: string): string => {
  const characters = [...text]
  const isComposed = text === text.normalize("NFC")
  const isLoneSpace = (at: number): boolean =>
    at > 0 && at < characters.length - 1 && characters[at - 1] !== " " && characters[at + 1] !== " "
  return escaped(
    characters,
    (character, at) =>
      INVISIBLE.test(character) ||
      OTHER_SPACE.test(character) ||
      (character === " " && !isLoneSpace(at)) ||
      (!isComposed && MARK.test(character))
  )
}
