import { printable } from "./PrintableText.ts"
import { textTable } from "./TextTable.ts"

/** A column of a list: its heading, and the member of an entry that it shows; `a.b` is a member of a member. */
export type Column = readonly [heading: string, member: string]

interface Page {
  readonly data: ReadonlyArray<object>
  readonly next_cursor?: string | null
}

const memberOf = (entry: unknown, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>(
      (value, name) =>
        typeof value === "object" && value !== null
          ? (value as Readonly<Record<string, unknown>>)[name]
          : undefined,
      entry
    )

const cellOf = (value: unknown): string | undefined => {
  if (value === undefined || value === null) return undefined
  if (Array.isArray(value)) return value.length === 0 ? undefined : printable(value.join(" "))
  return printable(typeof value === "object" ? JSON.stringify(value) : String(value))
}

/** A list as a person reads it: a table, and how to go on where there is more. */
export const listTable =
  (columns: ReadonlyArray<Column>) =>
  (answer: object): string => {
    const { data, next_cursor: cursor } = answer as Page
    const table = textTable(
      columns.map(([heading]) => heading),
      data.map((entry) => columns.map(([, member]) => cellOf(memberOf(entry, member))))
    )
    return typeof cursor === "string" && data.length > 0 ? `${table}\n\nmore: --cursor ${cursor}` : table
  }
