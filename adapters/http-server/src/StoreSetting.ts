import { Redacted } from "effect"

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
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "postgres:" && url.protocol !== "postgresql:")) return undefined
  return url.hostname === "" ? undefined : { postgres: Redacted.make(text, { label: "database" }) }
}
