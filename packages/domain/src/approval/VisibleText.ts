/*
 * Characters that show nothing, or that change how their neighbours are shown. U+2800 is a symbol, by its category, and an
 * empty one.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Spaces that look like another space, or like nothing at the end of a text. */
const OTHER_SPACE = /(?![ ])\p{Zs}/u
const MARK = /\p{M}/u
const PICTOGRAPH = /\p{Extended_Pictographic}/u
const HEX_DIGIT = /[0-9A-F]/u
const KEYCAP = /^[0-9#*]\ufe0f\u20e3/u
/** What an escape looks like. A text that has it of its own shows its first letter escaped. */
const ESCAPE = /^U\+[0-9A-F]{4}/u

const hexOf = (character: string): string =>
  character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")

const isInvisibleAt = (hex: string): boolean => {
  const point = Number.parseInt(hex, 16)
  return point <= 0x10ffff && INVISIBLE.test(String.fromCodePoint(point))
}

/** Whether a selector between emoji and text form is where it belongs: after a pictograph, or in a keycap. */
const selects = (characters: ReadonlyArray<string>, at: number): boolean => {
  const [before = "", character = "", after = ""] = characters.slice(Math.max(0, at - 1), at + 2)
  if (at === 0 || (character !== "\ufe0f" && character !== "\ufe0e")) return false
  return PICTOGRAPH.test(before) ? !HEX_DIGIT.test(before) : KEYCAP.test(before + character + after)
}

/**
 * Replaces the characters that are to be made visible by their code points, so that two texts which differ are shown
 * differently: neither does a text of its own look like an escape, nor an escape with what follows it like another one.
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

/** Text of a caller with control, bidi and zero-width characters made visible as U+XXXX (part 6). */
export const visibleText = (text: string): string => {
  const characters = [...text]
  return escaped(characters, (character, at) => INVISIBLE.test(character) && !selects(characters, at))
}

/**
 * A caller's word that is compared byte for byte (an action, a merchant, an attribute), shown so that no two of them look
 * alike for what cannot be seen: other spaces than U+0020, spaces at the ends or side by side, selectors, and marks that
 * could stand in one character with what they mark are made visible too.
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
