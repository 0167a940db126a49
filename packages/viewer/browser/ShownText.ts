/** Texts as they are shown: what evidence holds may be written to mislead whoever reads it. */
import { exactText, hidesCharacters, visibleText } from "@svc/domain/approval/VisibleText"
import { formatMajorUnits, minorUnit } from "@svc/protocol/Currency"
import { make } from "./Elements.ts"

/** Longest text that is shown in full, in UTF-16 code units: far above what the service takes of a caller. */
const MAX_SHOWN_UNITS = 4000

/** The same of JSON: more than any policy has, so that nothing of it can be pushed out of sight. */
const MAX_JSON_UNITS = 262_144

const shortened = (text: string, limit = MAX_SHOWN_UNITS): string =>
  text.length <= limit
    ? text
    : `${text.slice(0, limit)} [${text.length - limit} more characters are not shown]`

/** Text apart from its surroundings, in its own direction. */
const isolated = (text: string, name: "bdi" | "code" = "bdi"): HTMLElement =>
  make(name, { class: "given", dir: "auto" }, text)

/** Text that people wrote: invisible characters show as U+XXXX. */
export const said = (text: string): HTMLElement => isolated(visibleText(shortened(text)))

/** Text that is compared byte for byte: no two differ only in what cannot be seen. */
export const exact = (text: string): HTMLElement => isolated(exactText(shortened(text)), "code")

/** The isolates that the approval page itself puts around a text in a sentence. */
const ISOLATED = /\u2068([^\u2066-\u2069]*)\u2069/gu

/** A line as it was signed, or, if it hides characters that the approval page never writes, with these made visible. */
export const signedLine = (line: string): { readonly shown: HTMLElement; readonly hides: boolean } => {
  const hides = hidesCharacters(line.replace(ISOLATED, "$1"))
  return { shown: isolated(shortened(hides ? visibleText(line) : line)), hides }
}

/** The strings of JSON with their quotes, and what stands between them. */
const JSON_PARTS = /"(?:[^"\\\n]|\\.)*"|[^"]+|"/gu

/** JSON, laid out on lines of its own; a string that runs from right to left takes nothing around it along. */
export const json = (value: unknown): HTMLElement => {
  const text = JSON.stringify(value, undefined, 2)
  const shown = shortened(text, MAX_JSON_UNITS).split("\n").map(visibleText).join("\n")
  const parts = shown.match(JSON_PARTS) ?? []
  return make(
    "pre",
    { dir: "ltr", tabindex: "0" },
    ...parts.map((part) => (part.startsWith('"') ? make("bdi", {}, part) : part))
  )
}

/** An identifier, a hash, or a number of which every character counts. */
export const code = (text: string): HTMLElement => make("code", { dir: "ltr" }, visibleText(shortened(text)))

/** An amount in minor units as in `EUR 1,200.00`; in minor units where the currency has none that is known. */
export const money = (amount: bigint | number | string, currency: string): string => {
  const exponent = minorUnit(currency)
  const units = BigInt(amount)
  if (exponent === undefined) return `${visibleText(currency)} ${units} (minor units)`
  const digits = { minimumFractionDigits: exponent, maximumFractionDigits: exponent }
  // A number would lose the last digits of large amounts.
  const text = formatMajorUnits(units, exponent) as `${number}`
  return `${currency} ${new Intl.NumberFormat("en", digits).format(text)}`
}

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${new Intl.NumberFormat("en").format(count)} ${count === 1 ? one : many}`

/** An instant in UTC to the digit, without zeros at its end: `2026-12-02 10:00:00 UTC`. */
export const instant = (text: string): HTMLElement => {
  const [day = "", time = ""] = text.replace("Z", "").split("T")
  const shown = time.includes(".") ? time.replace(/\.?0+$/u, "") : time
  return make("time", { datetime: text }, `${day} ${shown} UTC`)
}
