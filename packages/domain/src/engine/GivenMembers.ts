/**
 * Members of what a caller of a program gave, each read once: a getter may return something else the next time. A member that
 * is `undefined` or cannot be read is absent. Nothing is known of the values.
 */
export const givenMembers = <const Name extends string>(
  given: unknown,
  names: ReadonlyArray<Name>
): { readonly [N in Name]?: unknown } => {
  const members: { [N in Name]?: unknown } = {}
  if (typeof given !== "object" || given === null) return members
  for (const name of names) {
    const value = readMember(given, name)
    if (value !== undefined) members[name] = value
  }
  return members
}

const readMember = (given: object, name: string): unknown => {
  try {
    return (given as Readonly<Record<string, unknown>>)[name]
  } catch {
    return undefined
  }
}

/**
 * Identifiers as a path names them. A malformed one is that of no resource (part 1), and so is the empty text that stands for
 * what no path could hold.
 */
export const pathTexts = <Path extends string>(
  given: { readonly [name: string]: unknown },
  path: ReadonlyArray<Path>
): { readonly [P in Path]: string } =>
  Object.fromEntries(path.map((name) => [name, pathText(given[name])])) as { readonly [P in Path]: string }

const pathText = (given: unknown): string => (typeof given === "string" && given.isWellFormed() ? given : "")
