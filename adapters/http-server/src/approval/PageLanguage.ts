import { LANGUAGES, type Language } from "@svc/domain/approval/StatementLanguage"
import Negotiator from "negotiator"

/** Hebrew as older systems call it. */
const OLD_HEBREW = "iw"

const OFFERED = [...LANGUAGES, OLD_HEBREW]

/** The language that a browser wants most among those of the page (RFC 9110, 12.5.4); English where it wants none of them. */
export const pageLanguage = (acceptLanguage: string | undefined): Language => {
  const wanted = new Negotiator({ headers: { "accept-language": acceptLanguage ?? "" } }).language(OFFERED)
  if (wanted === OLD_HEBREW) return "he"
  return LANGUAGES.find((language) => language === wanted) ?? "en"
}
