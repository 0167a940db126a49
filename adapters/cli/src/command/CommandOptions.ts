import { type ParseArgsOptionsConfig, parseArgs } from "node:util"
import { Effect } from "effect"
import { nearestOf } from "../config/DidYouMean.ts"
import { badUsage, type StartFault } from "../start/StartFault.ts"

/** How an option is written: with one value, with a value each time it is given, or alone. */
export type OptionKind = "one" | "many" | "flag"

const CONFIGURATIONS = {
  one: { type: "string" },
  many: { type: "string", multiple: true },
  flag: { type: "boolean" }
} as const

/** The options that a command was given. */
export type Options<Kinds extends Readonly<Record<string, OptionKind>>> = {
  readonly [Name in keyof Kinds]: Kinds[Name] extends "one"
    ? string | undefined
    : Kinds[Name] extends "many"
      ? ReadonlyArray<string>
      : boolean
}

type Given = Readonly<Record<string, string | boolean | ReadonlyArray<string | boolean> | undefined>>

const readValue = (kind: OptionKind, value: Given[string]): unknown => {
  if (kind === "flag") return value === true
  if (kind === "many") return Array.isArray(value) ? value : []
  return value === "" ? undefined : value
}

/** What an option may be called if it is to be told; whatever else was given may be a secret in the wrong place. */
const TELLABLE_OPTION = /^--[a-z][a-z-]{0,31}$/u

const unknownLine = (rawName: string, options: ParseArgsOptionsConfig): string => {
  const meant = nearestOf(rawName.slice(2), Object.keys(options))
  return `unknown option ${rawName}${meant === undefined ? "" : ` (was --${meant} meant?)`}; see --help`
}

/** Which options are not known, or lack their value. */
const faultIn = (words: ReadonlyArray<string>, options: ParseArgsOptionsConfig): StartFault => {
  const { tokens } = parseArgs({ args: [...words], options, strict: false, tokens: true })
  const lines = tokens.flatMap((token) => {
    if (token.kind !== "option" || !TELLABLE_OPTION.test(token.rawName)) return []
    if (!Object.hasOwn(options, token.name)) return unknownLine(token.rawName, options)
    const lacks = options[token.name]?.type === "string" && token.value === undefined
    return lacks ? `${token.rawName} has no value; see --help` : []
  })
  if (lines.length > 0) return badUsage([...new Set(lines)].join("\n"))
  return tokens.some(({ kind }) => kind === "positional")
    ? badUsage("a word is given that belongs to no option; see --help")
    : badUsage("an option is not known or has no value; see --help")
}

/** An option that is to have one value, given again, would drop the first. */
const repeatedIn = (
  kinds: Readonly<Record<string, OptionKind>>,
  words: ReadonlyArray<string>,
  options: ParseArgsOptionsConfig
): StartFault | undefined => {
  const { tokens } = parseArgs({ args: [...words], options, strict: false, tokens: true })
  const names = tokens.flatMap((token) => (token.kind === "option" ? token.name : []))
  const repeated = names.find((name, at) => kinds[name] === "one" && names.indexOf(name) !== at)
  return repeated === undefined ? undefined : badUsage(`--${repeated} is given twice`)
}

/** Reads the options of a command; one that it does not have, and a word that is no option, are refused. */
export const readOptions = <const Kinds extends Readonly<Record<string, OptionKind>>>(
  kinds: Kinds,
  words: ReadonlyArray<string>
): Effect.Effect<Options<Kinds>, StartFault> => {
  const options: ParseArgsOptionsConfig = Object.fromEntries(
    Object.entries(kinds).map(([name, kind]) => [name, CONFIGURATIONS[kind]])
  )
  const read = Effect.try({
    try: () => {
      const given: Given = parseArgs({ args: [...words], options, strict: true }).values
      return Object.fromEntries(
        Object.entries(kinds).map(([name, kind]) => [name, readValue(kind, given[name])])
      ) as Options<Kinds>
    },
    catch: () => faultIn(words, options)
  })
  return Effect.flatMap(read, (given) => {
    const fault = repeatedIn(kinds, words, options)
    return fault === undefined ? Effect.succeed(given) : Effect.fail(fault)
  })
}

/** The value of an option that must be there. */
export const needed = (value: string | undefined, name: string): Effect.Effect<string, StartFault> =>
  value === undefined ? Effect.fail(badUsage(`--${name} is missing`)) : Effect.succeed(value)

export const refuseUnless = (isSound: boolean, line: string): Effect.Effect<void, StartFault> =>
  isSound ? Effect.void : Effect.fail(badUsage(line))

/** One of the values that an option may have. */
export const oneOf = <const A extends string>(
  known: ReadonlyArray<A>,
  value: string,
  name: string
): Effect.Effect<A, StartFault> => {
  const found = known.find((candidate) => candidate === value)
  return found === undefined
    ? Effect.fail(badUsage(`--${name} must be one of ${known.join(", ")}`))
    : Effect.succeed(found)
}
