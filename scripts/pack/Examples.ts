/** The examples that a reader copies: each a folder of its own, with the packages as they are published. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ROOT } from "../../checks/Imports.ts"
import { isOwn } from "./PackageNames.ts"

/** Folders below `examples`. */
export const EXAMPLES = [
  "client-agent",
  "embed-in-express",
  "embed-in-fastify",
  "embed-in-nest",
  "next-route-handlers"
]

/** Programs that the tests run under Node's own test runner. */
const TESTING = "property-testing"

/** Not installed: Next is large, and the tests call the route handlers as it does; no test that is run there needs vitest. */
const NOT_INSTALLED = new Set(["next", "@effect/vitest"])

/** The packages of others that the examples name, each at the version that they all agree on. */
export const exampleDependencies = (): Readonly<Record<string, string>> => {
  const found = new Map<string, string>()
  for (const example of [...EXAMPLES, TESTING]) {
    const manifest = JSON.parse(readFileSync(join(ROOT, "examples", example, "package.json"), "utf8"))
    for (const [name, version] of Object.entries<string>({
      ...manifest.dependencies,
      ...manifest.devDependencies
    })) {
      if (isOwn(name) || NOT_INSTALLED.has(name)) continue
      if ((found.get(name) ?? version) !== version)
        throw new Error(`the examples name several versions of ${name}`)
      found.set(name, version)
    }
  }
  return Object.fromEntries(found)
}
