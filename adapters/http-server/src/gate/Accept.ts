const ZERO_QUALITY = /;\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)/iu

/**
 * Whether an `Accept` header admits the route's media type or `application/json`, by name or by range (part 2). A missing
 * or empty header accepts everything.
 */
export const accepts = (accept: string | undefined, mediaType: string): boolean => {
  if (accept === undefined || accept.trim() === "") return true
  return accept.split(",").some((range) => {
    if (ZERO_QUALITY.test(range)) return false
    const name = range.split(";")[0]!.trim().toLowerCase()
    return name === "*/*" || covers(name, mediaType) || covers(name, "application/json")
  })
}

const covers = (range: string, mediaType: string): boolean =>
  range === mediaType || range === `${mediaType.split("/")[0]}/*`
