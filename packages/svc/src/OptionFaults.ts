import { didYouMean } from "@svc/protocol/DidYouMean"
import { isThenable } from "./Thenable.ts"

/* What is wrong with options of any shape, for hosts without a compiler: sentences that name the option and say what to do. */

export type Faults = ReadonlyArray<string>

type Members = Readonly<Record<string, unknown>>

/** What a value given by mistake is, in words. */
export const givenWords = (value: unknown): string => {
  if (isThenable(value)) return "a promise: await it"
  if (value === undefined) return "nothing"
  if (value === null) return "null"
  return Array.isArray(value) ? "a list" : `something of type ${typeof value}`
}

/** Most names that are listed where none is close to an unknown one. */
const MAX_LISTED_NAMES = 8

export const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The members that an object must not have, with the name that was probably meant. `of` says whose options they are. */
export const unknownNames = (value: object, known: ReadonlyArray<string>, of = ""): Faults =>
  Object.keys(value)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = didYouMean(name, known)
      const start = `there is no option ${JSON.stringify(name)}${of}`
      if (meant !== undefined) return `${start}; was ${meant} meant?`
      return known.length > MAX_LISTED_NAMES
        ? `${start}.`
        : `${start}; it takes ${known.join(", ") || "none"}.`
    })

/** The faults of members that must be of a type, where they are given. */
export const wrongTypes = (
  value: Members,
  names: ReadonlyArray<string>,
  type: "boolean" | "function"
): Faults =>
  names
    .filter((name) => value[name] !== undefined && typeof value[name] !== type)
    .map((name) => `${name} must be ${type === "boolean" ? "true or false" : "a function"}.`)

/** Throws what is wrong with the options of a function, all of it at once. */
export const throwFaults = (of: string, faults: Faults): void => {
  if (faults.length === 0) return
  if (faults.length === 1) throw new TypeError(`${of}: ${faults[0]}`)
  throw new TypeError(
    `${of}: ${faults.length} options are wrong:\n${faults.map((fault) => `- ${fault}`).join("\n")}`
  )
}
