import { jsonPointer } from "./JsonPointer.ts"
import type { MemberFault } from "./Problem.ts"

/** One fault for each entry of a list that is there before: a list of a request names each thing once (part 4). */
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
