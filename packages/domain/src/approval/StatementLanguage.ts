/** Languages of the approval page, by their BCP 47 tags (part 6). English, the default, comes first. */
export const LANGUAGES = ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "ja", "ar", "he"] as const

export type Language = (typeof LANGUAGES)[number]

/** Whether a caller named a language of the approval page. */
export const isLanguage = (given: unknown): given is Language => LANGUAGES.some((tag) => tag === given)

const RIGHT_TO_LEFT: ReadonlySet<Language> = new Set(["ar", "he"])

/** The direction in which a language is written. */
export const directionOf = (language: Language): "ltr" | "rtl" =>
  RIGHT_TO_LEFT.has(language) ? "rtl" : "ltr"

/**
 * The locale that `Intl` formats by: Western digits and the Gregorian calendar in every language, so that an amount reads
 * the same as in the policy that it stands for.
 */
export const formattingLocale = (language: Language): string => `${language}-u-ca-gregory-nu-latn`
