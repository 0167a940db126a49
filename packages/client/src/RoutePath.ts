import { invalidArgument } from "./SvcError.ts"
import { isThenable } from "./Thenable.ts"

/**
 * A path whose parameters are encoded. Refuses what a URL cannot carry as one segment: an empty text, which would name the
 * list, and `.` and `..`, which would name another path.
 */
export const routePath = (parts: TemplateStringsArray, ...segments: ReadonlyArray<string>): string =>
  parts.reduce((path, part, index) => path + encodeSegment(segments[index - 1]) + part)

const encodeSegment = (segment: unknown): string => {
  if (typeof segment !== "string") {
    const given = isThenable(segment) ? "a promise: await it" : `something of type ${typeof segment}`
    throw invalidArgument(`an identifier must be a text, and was given as ${given}`)
  }
  if (segment === "" || segment === "." || segment === "..") {
    throw invalidArgument(`${JSON.stringify(segment)} cannot be part of an address`)
  }
  try {
    return encodeURIComponent(segment)
  } catch {
    throw invalidArgument("an identifier must be well-formed Unicode")
  }
}

/** The query of a request; members that are `undefined` are left out. */
export const queryText = (query: object = {}): string => {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  return pairs.length === 0
    ? ""
    : `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`
}
