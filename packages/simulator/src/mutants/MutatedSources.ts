import { registerHooks } from "node:module"
import { fileURLToPath } from "node:url"
import { MUTANTS, type Mutant } from "./Mutants.ts"

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url))

/** The source with the mutant's edit. Throws unless what is to be edited is there exactly once. */
export const mutated = (source: string, { file, find, name, replace }: Mutant): string => {
  const [before, after, ...others] = source.split(find)
  if (before === undefined || after === undefined || others.length > 0) {
    throw new Error(
      `"${name}" does not apply to ${file}: its text is there ${others.length + (after === undefined ? 0 : 1)} times`
    )
  }
  return before + replace + after
}

/** Loads the mutant's file with its edit from now on. */
export const loadMutated = (name: string): Mutant => {
  const mutant = MUTANTS.find((one) => one.name === name)
  if (mutant === undefined) throw new Error(`there is no mutant "${name}"`)
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context)
      if (!url.startsWith("file:") || fileURLToPath(url) !== ROOT + mutant.file) return loaded
      return { ...loaded, source: mutated(String(loaded.source), mutant) }
    }
  })
  return mutant
}
