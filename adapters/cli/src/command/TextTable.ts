/** Rows of text under their headings, each column as wide as its longest text. Absent values are shown as a hyphen. */
export const textTable = (
  headings: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string | undefined>>
): string => {
  const lines = [headings, ...rows.map((row) => headings.map((_, column) => row[column] ?? "-"))]
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column]!))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}
