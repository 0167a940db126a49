import { type PlanNode, planNodes } from "./ExecutedPlans.ts"

/** The tables of a schema that hold what requests are about, each keyed by its organization first. */
export interface DataTables {
  readonly schema: string
  readonly names: ReadonlySet<string>
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&")

/** Words that may follow a table's name and are no other name for it. */
const NO_ALIAS = new Set(
  "where on set values order select join left inner cross limit for group using returning union loop default".split(
    " "
  )
)

interface TableReference {
  readonly table: string
  /** What the statement calls the table. */
  readonly name: string
  /** The text before and after the table's name. */
  readonly before: string
  readonly after: string
}

const referencesIn = (statement: string, { names, schema }: DataTables): ReadonlyArray<TableReference> => {
  const quoted = escaped(`"${schema.replaceAll('"', '""')}"`)
  const form = new RegExp(`(?:${quoted}|(?<![\\w"])${escaped(schema)})\\."?(\\w+)"?`, "gu")
  return [...statement.matchAll(form)]
    .filter(([, table]) => names.has(table!))
    .map((match) => {
      const after = statement.slice(match.index + match[0].length)
      const [, alias] = /^\s+(?:as\s+)?(\w+)/u.exec(after) ?? []
      const name = alias === undefined || NO_ALIAS.has(alias) ? match[1]! : alias
      return { table: match[1]!, name, before: statement.slice(0, match.index), after }
    })
}

const isInsert = ({ before }: TableReference): boolean => /\binsert\s+into\s+$/u.test(before)

const insertsOrganization = ({ after }: TableReference): boolean =>
  /^\s*(?:as\s+\w+\s*)?\(\s*organization\b/u.test(after)

/** How often a statement narrows what it calls `name` to an organization. */
const narrowings = (statement: string, { name, table }: TableReference): number => {
  const compared = new RegExp(`(?<![\\w.])${name}\\.organization(?:\\s*=|[^()]*\\)\\s*(?:=|in\\b))`, "gu")
  const bare = /(?<![\w.])organization\s*=/gu
  const conditions = statement.replace(/^.*?\bwhere\b/su, "")
  return [...statement.matchAll(compared), ...(name === table ? conditions.matchAll(bare) : [])].length
}

/** A statement in lower case, without its comments and literals. */
const plainForm = (statement: string): string =>
  statement
    .replaceAll(/--[^\n]*/gu, " ")
    .replaceAll(/'(?:[^']|'')*'/gu, "''")
    .toLowerCase()

/** The tables that a statement reads or writes without naming an organization. */
export const unnarrowedTables = (statement: string, tables: DataTables): ReadonlyArray<string> => {
  const text = plainForm(statement)
  const references = referencesIn(text, tables)
  const inserts = references.filter((one) => isInsert(one) && !insertsOrganization(one))
  const others = references.filter((one) => !isInsert(one))
  const open = others.filter(
    (one) => narrowings(text, one) < others.filter(({ name }) => name === one.name).length
  )
  return [...new Set([...inserts, ...open].map(({ table }) => table))]
}

/** The statements of a function's body, and those around them. One that is made up at run time cannot be judged. */
export const statementsOf = (body: string): ReadonlyArray<string> => {
  if (/\bexecute\b/u.test(plainForm(body))) throw new Error("a function makes a statement up as it runs")
  return body.split(";")
}

/** What a step of a plan reads of a table, by which index, and under which condition. */
const scanOf = (node: PlanNode, { names, schema }: DataTables): string | undefined => {
  const { "Index Cond": condition, "Index Name": index, "Node Type": type, "Relation Name": table } = node
  const isOfTable = table !== undefined && node.Schema === schema && names.has(table)
  if (type === "Bitmap Index Scan" || /^Index (?:Only )?Scan/u.test(type)) {
    const isNarrowed = /(?:^|[(. ])organization = /u.test(condition ?? "")
    return isNarrowed || (table !== undefined && !isOfTable) ? undefined : `${index}`
  }
  const isRead = isOfTable && / Scan$/u.test(type) && type !== "Bitmap Heap Scan"
  return isRead ? `${type} of ${table}` : undefined
}

/** Indexes that a plan reads without naming an organization, and tables that it reads without an index. */
export const unnarrowedScans = (plan: PlanNode, tables: DataTables): ReadonlyArray<string> =>
  planNodes(plan).flatMap((node) => scanOf(node, tables) ?? [])
