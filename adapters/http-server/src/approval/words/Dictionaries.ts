import type { Language } from "@svc/domain/approval/StatementLanguage"
import { ARABIC } from "./Arabic.ts"
import { DUTCH } from "./Dutch.ts"
import { ENGLISH } from "./English.ts"
import { FRENCH } from "./French.ts"
import { GERMAN } from "./German.ts"
import { HEBREW } from "./Hebrew.ts"
import { ITALIAN } from "./Italian.ts"
import { JAPANESE } from "./Japanese.ts"
import type { PageWords } from "./PageWords.ts"
import { POLISH } from "./Polish.ts"
import { PORTUGUESE } from "./Portuguese.ts"
import { SPANISH } from "./Spanish.ts"

/** The texts of the page by language. */
export const PAGE_WORDS: Readonly<Record<Language, PageWords>> = {
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
