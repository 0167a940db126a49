import { isWellFormedText } from "@svc/protocol/Text"

/**
 * The parameters of a URL's query, or `undefined` if it is malformed: an invalid percent escape, a repeated name, or text
 * that is not well-formed Unicode. A plus sign stands for a space, as in forms.
 */
export const parseQuery = (url: string): Readonly<Record<string, string>> | undefined => {
  const start = url.indexOf("?")
  const query: Record<string, string> = Object.create(null)
  if (start === -1) return query
  for (const pair of url.slice(start + 1).split("&")) {
    if (pair === "") continue
    const equals = pair.indexOf("=")
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    const value = decode(equals === -1 ? "" : pair.slice(equals + 1))
    if (name === undefined || value === undefined || name in query) return undefined
    query[name] = value
  }
  return query
}

const decode = (text: string): string | undefined => {
  try {
    const decoded = decodeURIComponent(text.replaceAll("+", " "))
    return isWellFormedText(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}
