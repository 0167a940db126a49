import type { Language } from "../StatementLanguage.ts"
import { ENGLISH } from "./English.ts"
import type { StatementWords } from "./StatementWords.ts"

/** The words of every language that the approval page is shown in. */
export const STATEMENT_WORDS: Readonly<Record<Language, StatementWords>> = {
  en: ENGLISH,
  de: ENGLISH,
  fr: ENGLISH,
  es: ENGLISH,
  it: ENGLISH,
  pt: ENGLISH,
  nl: ENGLISH,
  pl: ENGLISH,
  ja: ENGLISH,
  ar: ENGLISH,
  he: ENGLISH
}
