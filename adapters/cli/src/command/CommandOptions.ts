import { type ParseArgsOptionsConfig, parseArgs } from "node:util"
import { didYouMean } from "@svc/protocol/DidYouMean"
import { Effect } from "effect"
import { type StartFault, usageFault } from "../start/StartFault.ts"

/** `one`: with a value, at most once. `many`: with a value, any number of times. `flag`: without a value. */
export type OptionKind = "one" | "many" | "flag"

const CONFIGURATIONS = {
  one: { type: "string" },
  many: { type: "string", multiple: true },
  flag: { type: "boolean" }
} as const

/** The options that were given. */
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

/** Option names that messages may quote; anything else may be a misplaced secret. */
const QUOTABLE_OPTION = /^--[a-z][a-z-]{0,31}$/u

const unknownOption = (rawName: string, options: ParseArgsOptionsConfig): string => {
  const meant = didYouMean(rawName.slice(2), Object.keys(options))
  return `unknown option ${rawName}${meant === undefined ? "" : ` (was --${meant} meant?)`}; see --help`
}

/** The fault of words that do not parse: unknown options and missing values. */
const parseFault = (words: ReadonlyArray<string>, options: ParseArgsOptionsConfig): StartFault => {
  const { tokens } = parseArgs({ args: [...words], options, strict: false, tokens: true })
  const lines = tokens.flatMap((token) => {
    if (token.kind !== "option" || !QUOTABLE_OPTION.test(token.rawName)) return []
    if (!Object.hasOwn(options, token.name)) return unknownOption(token.rawName, options)
    const lacks = options[token.name]?.type === "string" && token.value === undefined
    return lacks ? `${token.rawName} has no value; see --help` : []
  })
  if (lines.length > 0) return usageFault([...new Set(lines)].join("\n"))
  return tokens.some(({ kind }) => kind === "positional")
    ? usageFault("a word is given that belongs to no option; see --help")
    : usageFault("an option is not known or has no value; see --help")
}

/** `parseArgs` would silently keep the last value of a repeated option. */
const repetitionFault = (
  kinds: Readonly<Record<string, OptionKind>>,
  words: ReadonlyArray<string>,
  options: ParseArgsOptionsConfig
): StartFault | undefined => {
  const { tokens } = parseArgs({ args: [...words], options, strict: false, tokens: true })
  const names = tokens.flatMap((token) => (token.kind === "option" ? token.name : []))
  const repeated = names.find((name, at) => kinds[name] === "one" && names.indexOf(name) !== at)
  return repeated === undefined ? undefined : usageFault(`--${repeated} is given twice`)
}

/** Parses the options of a command. Unknown options and other words are refused. */
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
    catch: () => parseFault(words, options)
  })
  return Effect.flatMap(read, (given) => {
    const fault = repetitionFault(kinds, words, options)
    return fault === undefined ? Effect.succeed(given) : Effect.fail(fault)
  })
}

/** The value of a mandatory option. */
export const requiredOption = (value: string | undefined, name: string): Effect.Effect<string, StartFault> =>
  value === undefined ? Effect.fail(usageFault(`--${name} is missing`)) : Effect.succeed(value)

export const refuseUnless = (isValid: boolean, line: string): Effect.Effect<void, StartFault> =>
  isValid ? Effect.void : Effect.fail(usageFault(line))

/** The value of `--limit`, how many entries are printed: a whole number from 1 to `most`, or else the default. */
export const limitOption = (
  text: string | undefined,
  { byDefault, most }: { readonly byDefault: number; readonly most: number }
): Effect.Effect<number, StartFault> => {
  if (text === undefined) return Effect.succeed(byDefault)
  const limit = /^\d{1,4}$/u.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= most
    ? Effect.succeed(limit)
    : Effect.fail(usageFault(`--limit must be 1 to ${most}`))
}

/** Parses an option with a fixed set of values. */
export const oneOf = <const A extends string>(
  known: ReadonlyArray<A>,
  value: string,
  name: string
): Effect.Effect<A, StartFault> => {
  const found = known.find((candidate) => candidate === value)
  return found === undefined
    ? Effect.fail(usageFault(`--${name} must be one of ${known.join(", ")}`))
    : Effect.succeed(found)
}
