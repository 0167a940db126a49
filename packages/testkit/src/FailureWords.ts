import { inspect } from "node:util"

/** Characters of a value that a message shows at most. */
const SHOWN_CHARACTERS = 400

/** A value on one line, as code would write it, cut short where it is long. */
export const shownValue = (value: unknown): string => {
  const text = inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY, compact: true })
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`
}

/** Whether an error is a refusal of a port, which has a tag. */
export const isTagged = (error: unknown): error is Error & { readonly _tag: string } =>
  error instanceof Error && "_tag" in error && typeof error._tag === "string"

/** An error by its tag or name, and its message; whatever else was thrown as it is. */
export const wordsOf = (error: unknown): string => {
  if (!(error instanceof Error)) return shownValue(error)
  const tag = isTagged(error) ? error._tag : error.name
  return error.message === "" ? tag : `${tag}: ${error.message}`
}
