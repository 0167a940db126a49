import { readFileSync } from "node:fs"
import { Config, Effect, Option, Redacted } from "effect"
import { configurationFault, type StartFault } from "../start/StartFault.ts"

/** A setting, which is an environment variable, and its entry in `--help`. */
export interface Setting<A> {
  readonly name: string
  readonly meaning: string
  /** What a value must be; part of the message about an invalid one. */
  readonly form: string
  /** The default as one would write it, if there is one. */
  readonly byDefault?: string
  /** Shown in `--help` for a setting that has no default and may be left out. */
  readonly isOptional?: true
  /** A variable that names a file with the value, for a secret that is to stay out of the environment. */
  readonly fileName?: string
  readonly parse: (text: string) => A | undefined
  /** What is wrong with a value that does not parse, where more can be said than its form. Must not quote the value. */
  readonly faultOf?: (text: string) => string | undefined
}

/** The value of a variable; an empty variable counts as unset. */
const variable = (name: string): Effect.Effect<string | undefined, StartFault> =>
  Config.option(Config.Redacted(name)).pipe(
    Effect.mapError(() => configurationFault(`${name} cannot be read`)),
    Effect.map((option) => Option.getOrUndefined(Option.map(option, Redacted.value)) || undefined)
  )

/** Where a value comes from, as its faults call it, and the value. */
interface Given {
  readonly source: string
  readonly text: string | undefined
}

/** Reads the file that a variable names, less the end of its last line. */
const fileContent = (variableName: string, path: string): Effect.Effect<Given, StartFault> =>
  Effect.try({
    try: () => ({
      source: `${variableName}: its content`,
      text: readFileSync(path, "utf8").replace(/\r?\n$/u, "")
    }),
    catch: () => configurationFault(`${variableName} must be the path of a file that can be read`)
  })

/** The value of the setting's variable, or of the file that its other variable names. */
const given = Effect.fnUntraced(function* ({
  fileName,
  name
}: Setting<unknown>): Effect.fn.Return<Given, StartFault> {
  const text = yield* variable(name)
  const path = fileName === undefined ? undefined : yield* variable(fileName)
  if (fileName === undefined || path === undefined) return { source: name, text }
  if (text !== undefined)
    return yield* configurationFault(`${name} and ${fileName} are both set; leave one out`)
  return yield* fileContent(fileName, path)
})

/** The fault of a setting with an invalid value. The value is not quoted, since it may be a misplaced secret. */
export const invalidSetting = ({ faultOf, form, name }: Setting<unknown>, text = ""): StartFault => {
  const fault = faultOf?.(text)
  return configurationFault(`${name} must be ${form}${fault === undefined ? "" : `: ${fault}`}`)
}

/** Reads a setting that may be unset; fails if it is set to an invalid value. */
export const optional = Effect.fnUntraced(function* <A>(
  setting: Setting<A>
): Effect.fn.Return<A | undefined, StartFault> {
  const { source, text = setting.byDefault } = yield* given(setting)
  if (text === undefined) return undefined
  const value = setting.parse(text)
  return value === undefined ? yield* invalidSetting({ ...setting, name: source }, text) : value
})

/** Reads a setting that must be set or have a default. */
export const required = Effect.fnUntraced(function* <A>(
  setting: Setting<A>
): Effect.fn.Return<A, StartFault> {
  const value = yield* optional(setting)
  if (value !== undefined) return value
  return yield* configurationFault(`${setting.name} is missing; it must be ${setting.form}`)
})
