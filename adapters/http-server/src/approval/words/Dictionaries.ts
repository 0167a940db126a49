import type { Language } from "@svc/domain/StatementLanguage"
import { ENGLISH } from "./English.ts"
import type { PageWords } from "./PageWords.ts"

/** The words of the page in every language that it is shown in. */
export const PAGE_WORDS: Readonly<Record<Language, PageWords>> = {
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
