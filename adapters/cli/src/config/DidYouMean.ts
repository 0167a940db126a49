/** Most edits, of one character each, between what was written and what was meant. */
const MOST_EDITS = 2

/** How many characters must be put in, left out or replaced to make one word of the other. */
const editsBetween = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, character] of [...one].entries()) {
    const next = [at + 1]
    for (let column = 1; column <= other.length; column++) {
      const replaced = row[column - 1]! + (other[column - 1] === character ? 0 : 1)
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1))
    }
    row = next
  }
  return row[other.length]!
}

/** The known name that a misspelt one most likely stands for, whatever its case. */
export const nearestOf = (name: string, known: ReadonlyArray<string>): string | undefined => {
  const ranked = known
    .map((candidate) => ({ candidate, edits: editsBetween(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((one, other) => one.edits - other.edits)
  const [first] = ranked
  return first !== undefined && first.edits <= MOST_EDITS ? first.candidate : undefined
}
