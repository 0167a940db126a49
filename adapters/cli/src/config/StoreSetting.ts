import { postgresUrlFault } from "@svc/store-postgres/connection/PostgresUrl"
import { Redacted } from "effect"

/** Where the data is stored. */
export type StoreSetting =
  | "memory"
  | {
      /** Folder of an embedded database. */
      readonly pglite: string
    }
  | {
      /** URL of a Postgres server; it may hold a password. */
      readonly postgres: Redacted.Redacted
      /** The partitions by organization that its schema has, or is to be made with; absent: whatever it has, else none. */
      readonly partitions?: number
    }

const PGLITE = "pglite:"

export const STORE_FORM = "memory, pglite:<folder>, or a postgres:// URL"

/** Reads `SVC_STORE`. */
export const parseStore = (text: string): StoreSetting | undefined => {
  if (text === "memory") return text
  if (text.startsWith(PGLITE) && text.length > PGLITE.length) return { pglite: text.slice(PGLITE.length) }
  return postgresUrlFault(text) === undefined
    ? { postgres: Redacted.make(text, { label: "database" }) }
    : undefined
}

/** What is wrong with an invalid value that looks like the URL of a server. Never quotes the value. */
export const storeUrlFault = (text: string): string | undefined =>
  /^postgres(?:ql)?:/iu.test(text) ? postgresUrlFault(text) : undefined
