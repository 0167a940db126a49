import { Schema } from "effect"

/** Longest string of a request unless a member says otherwise, in code points (part 1). */
export const TEXT_MAX_CODE_POINTS = 255

const codePoints = (text: string): number => {
  let count = 0
  for (const _ of text) count++
  return count
}

/** Well-formed Unicode without U+0000: text that has one UTF-8 form and that every store keeps. */
export const isWellFormedText = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

/**
 * A request string of `minimum` to `maximum` code points, well-formed and without U+0000 (part 1).
 */
export const textBetween = (minimum: number, maximum: number) =>
  Schema.String.check(
    Schema.makeFilter(
      (text: string) => {
        if (!isWellFormedText(text)) return "must be well-formed Unicode without U+0000"
        // UTF-16 units are never fewer than code points, so most strings need no count.
        if (text.length < minimum) return `must have ${minimum} to ${maximum} characters`
        if (text.length > maximum * 2) return `must have ${minimum} to ${maximum} characters`
        const length = codePoints(text)
        return length >= minimum && length <= maximum
          ? undefined
          : `must have ${minimum} to ${maximum} characters`
      },
      { toJsonSchema: () => ({ minLength: minimum, maxLength: maximum }) }
    )
  )

/** A request string of 1 to 255 code points. */
export const Text = textBetween(1, TEXT_MAX_CODE_POINTS)
