import { isWellFormedText } from "@svc/protocol/Text"

/**
 * The query of a URL by name, or `undefined` where it is malformed: a bad percent escape, a name that
 * comes twice, or text that is not well-formed. A plus sign is a space, as forms write it.
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
