/** Largest edit distance at which a known name is suggested for a misspelt one. */
const MAX_EDITS = 2

/** The Levenshtein distance: how many characters must be inserted, deleted or replaced to turn one word into the other. */
const editDistance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (const [index, character] of [...one].entries()) {
    const next = [index + 1]
    for (let column = 1; column <= other.length; column++) {
      const replaced = row[column - 1]! + (other[column - 1] === character ? 0 : 1)
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1))
    }
    row = next
  }
  return row[other.length]!
}

/** The known name that a misspelt one most likely stands for, in any case. */
export const didYouMean = (name: string, known: ReadonlyArray<string>): string | undefined => {
  const ranked = known
    .map((candidate) => ({
      candidate,
      distance: editDistance(name.toLowerCase(), candidate.toLowerCase())
    }))
    .sort((one, other) => one.distance - other.distance)
  const [closest] = ranked
  return closest !== undefined && closest.distance <= MAX_EDITS ? closest.candidate : undefined
}
