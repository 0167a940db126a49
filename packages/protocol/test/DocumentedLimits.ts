import { readFileSync } from "node:fs"

/** The table under "Limits" in docs/interface/README.md: each limit by its words. */
export const documentedLimits = (): ReadonlyMap<string, number> => {
  const page = readFileSync(new URL("../../../docs/interface/README.md", import.meta.url), "utf8")
  const table = page.slice(page.indexOf("\n## Limits"))
  return new Map(
    [...table.matchAll(/^\| (.+?) \| ([\d,]+) \|/gmu)].map(([, limit = "", value = ""]) => [
      limit,
      Number(value.replaceAll(",", ""))
    ])
  )
}
