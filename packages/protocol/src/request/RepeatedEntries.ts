import { jsonPointer } from "../json/JsonPointer.ts"
import type { MemberFault } from "../Problem.ts"

/** One fault for each entry that repeats an earlier one: a list in a request has no duplicates (part 4). */
export const repeatedEntries = (
  list: ReadonlyArray<string>,
  path: ReadonlyArray<PropertyKey>
): ReadonlyArray<MemberFault> => {
  const seen = new Set<string>()
  return list.flatMap((entry, index) => {
    if (seen.has(entry)) {
      return [
        { pointer: jsonPointer([...path, index]), code: "duplicate", detail: "repeats an earlier entry" }
      ]
    }
    seen.add(entry)
    return []
  })
}
