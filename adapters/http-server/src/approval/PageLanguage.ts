import { LANGUAGES, type Language } from "@svc/domain/approval/StatementLanguage"
import Negotiator from "negotiator"

/** The former code of Hebrew, which some systems still send. */
const OLD_HEBREW = "iw"

const OFFERED = [...LANGUAGES, OLD_HEBREW]

/** The language of the page that the browser prefers (RFC 9110, section 12.5.4); English by default. */
export const pageLanguage = (acceptLanguage: string | undefined): Language => {
  const wanted = new Negotiator({ headers: { "accept-language": acceptLanguage ?? "" } }).language(OFFERED)
  if (wanted === OLD_HEBREW) return "he"
  return LANGUAGES.find((language) => language === wanted) ?? "en"
}
