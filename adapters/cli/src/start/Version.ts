import { readFileSync } from "node:fs"

/** The release of this program. */
export const version = (): string => {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8")
  return (JSON.parse(text) as { readonly version: string }).version
}
