/**
 * Longest name that a pointer in an answer repeats, in UTF-16 units. Openings, tokens and keys have 43 and more characters,
 * so that one sent in the wrong place is never echoed (part 2); and pointers cannot cost more than the body they are into.
 */
export const REPEATED_NAME_MAX_UNITS = 40

/** One step of a JSON pointer, its slash included. */
export const pointerStep = (step: PropertyKey): string =>
  `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`

/** A JSON pointer (RFC 6901) from its steps. */
export const jsonPointer = (path: ReadonlyArray<PropertyKey>): string => path.map(pointerStep).join("")
