import { ISO_4217_MINOR_UNITS } from "./Iso4217.ts"

/** Whether the text has the form of an ISO 4217 code; says nothing about its being one. */
export const isCurrencyForm = (code: string): boolean => /^[A-Z]{3}$/u.test(code)

/**
 * The number of decimal digits of a current ISO 4217 currency. `undefined` for withdrawn codes, metals,
 * funds without a minor unit, `XTS`, `XXX` and anything that is not a code (part 1).
 */
export const minorUnit = (code: string): number | undefined => ISO_4217_MINOR_UNITS.get(code)

/**
 * An amount of minor units as plain decimal text in major units: 5000 with exponent 2 is `50.00`, with
 * exponent 0 `5000`. Takes integers only (a `number` must be a safe one) and throws a `RangeError`
 * otherwise.
 */
export const formatMajorUnits = (amount: bigint | number, exponent: number): string => {
  if (typeof amount === "number" && !Number.isSafeInteger(amount)) {
    throw new RangeError("an amount of minor units is a safe integer")
  }
  const units = BigInt(amount)
  const sign = units < 0n ? "-" : ""
  const digits = (units < 0n ? -units : units).toString().padStart(exponent + 1, "0")
  if (exponent === 0) return sign + digits
  return `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`
}
