import { Redacted } from "effect"
import { postgresUrlFault } from "./PostgresUrl.ts"

/** Where everything is kept (part 9). */
export type StoreSetting =
  | "memory"
  | {
      /** Folder of a database inside the process. */
      readonly pglite: string
    }
  | {
      /** URL of a server, which may hold a password. */
      readonly postgres: Redacted.Redacted
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

/** What is wrong with a value that {@link parseStore} refuses, if it is meant as the URL of a server. Quotes nothing. */
export const storeFaultOf = (text: string): string | undefined =>
  /^postgres(?:ql)?:/iu.test(text) ? postgresUrlFault(text) : undefined
