import type { Language } from "../StatementLanguage.ts"
import { ARABIC } from "./Arabic.ts"
import { DUTCH } from "./Dutch.ts"
import { ENGLISH } from "./English.ts"
import { FRENCH } from "./French.ts"
import { GERMAN } from "./German.ts"
import { HEBREW } from "./Hebrew.ts"
import { ITALIAN } from "./Italian.ts"
import { JAPANESE } from "./Japanese.ts"
import { POLISH } from "./Polish.ts"
import { PORTUGUESE } from "./Portuguese.ts"
import { SPANISH } from "./Spanish.ts"
import type { StatementWords } from "./StatementWords.ts"

/** The words of every language that the approval page is shown in. */
export const STATEMENT_WORDS: Readonly<Record<Language, StatementWords>> = {
  en: ENGLISH,
  de: GERMAN,
  fr: FRENCH,
  es: SPANISH,
  it: ITALIAN,
  pt: PORTUGUESE,
  nl: DUTCH,
  pl: POLISH,
  ja: JAPANESE,
  ar: ARABIC,
  he: HEBREW
}
