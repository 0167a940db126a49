import { packageOf } from "../../checks/Imports.ts"

/** The scope of the packages' names in this repository. */
const OWN_SCOPE = "@svc"

/** The name of the front package in this repository. */
const OWN_FRONT = "svc"

/** Names under which packages are published. */
export interface PublishedNames {
  /** The scope of all packages but the front package, with its at sign. */
  readonly scope: string
  /** The front package. */
  readonly front: string
}

/** To publish under other names, change them here: the sources keep theirs, and the build writes these. */
export const PUBLISHED_NAMES: PublishedNames = { scope: OWN_SCOPE, front: OWN_FRONT }

/** Whether an import names a package of this repository. */
export const isOwn = (specifier: string): boolean =>
  specifier.startsWith(`${OWN_SCOPE}/`) || packageOf(specifier) === OWN_FRONT

/** A package's name, or an import, as it is published. */
export const publishedName = (specifier: string, names: PublishedNames): string => {
  if (specifier.startsWith(`${OWN_SCOPE}/`)) return `${names.scope}${specifier.slice(OWN_SCOPE.length)}`
  return packageOf(specifier) === OWN_FRONT ? `${names.front}${specifier.slice(OWN_FRONT.length)}` : specifier
}

/** Imports as the compiler writes them: a statement begins its line, or that of an example in a comment. */
const IMPORTED =
  /(^(?: *\* )?(?:import|export)\b[^"'`;]*?\bfrom |^(?: *\* )?import |\bimport\()"([^"\n]+)"/gmu

const COMMENT = /^\s*\/\*[\s\S]*?\*\//gmu

/** What compiled JavaScript or a declaration imports. */
export const importsOf = (text: string): ReadonlyArray<string> =>
  [...text.replace(COMMENT, "").matchAll(IMPORTED)].map(([, , specifier = ""]) => specifier)

/**
 * Compiled JavaScript or a declaration as it is published: it imports the packages of this repository by their published
 * names, and neighbours by the names of their JavaScript (the compiler leaves `.ts` in declarations).
 */
export const withPublishedImports = (text: string, names: PublishedNames): string =>
  text.replace(IMPORTED, (_, before, specifier) => {
    const published = specifier.startsWith(".")
      ? specifier.replace(/\.ts$/u, ".js")
      : publishedName(specifier, names)
    return `${before}"${published}"`
  })
