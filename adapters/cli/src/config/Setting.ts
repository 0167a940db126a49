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
  readonly parse: (text: string) => A | undefined
  /** What is wrong with a value that does not parse, where more can be said than its form. Must not quote the value. */
  readonly faultOf?: (text: string) => string | undefined
}

/** The value of the variable; an empty variable counts as unset. */
const textOf = (setting: Setting<unknown>): Effect.Effect<string | undefined, StartFault> =>
  Config.option(Config.Redacted(setting.name)).pipe(
    Effect.mapError(() => configurationFault(`${setting.name} cannot be read`)),
    Effect.map((option) => Option.getOrUndefined(Option.map(option, Redacted.value)) || undefined)
  )

/** The fault of a setting with an invalid value. The value is not quoted, since it may be a misplaced secret. */
export const invalidSetting = ({ faultOf, form, name }: Setting<unknown>, text = ""): StartFault => {
  const fault = faultOf?.(text)
  return configurationFault(`${name} must be ${form}${fault === undefined ? "" : `: ${fault}`}`)
}

/** Reads a setting that may be unset; fails if it is set to an invalid value. */
export const optional = Effect.fnUntraced(function* <A>(
  setting: Setting<A>
): Effect.fn.Return<A | undefined, StartFault> {
  const text = (yield* textOf(setting)) ?? setting.byDefault
  if (text === undefined) return undefined
  const value = setting.parse(text)
  return value === undefined ? yield* invalidSetting(setting, text) : value
})

/** Reads a setting that must be set or have a default. */
export const required = Effect.fnUntraced(function* <A>(
  setting: Setting<A>
): Effect.fn.Return<A, StartFault> {
  const value = yield* optional(setting)
  if (value !== undefined) return value
  return yield* configurationFault(`${setting.name} is missing; it must be ${setting.form}`)
})
