import { didYouMean } from "@svc/protocol/DidYouMean"
import { Console, Effect } from "effect"
import type { Setting } from "./Setting.ts"
import { DEV_SETTINGS, SERVER_SETTINGS, SETTINGS_OF } from "./SettingsHelp.ts"

const namesOf = (settings: ReadonlyArray<Setting<unknown>>): ReadonlyArray<string> =>
  settings.flatMap(({ fileName, name }) => (fileName === undefined ? [name] : [name, fileName]))

const KNOWN = [...new Set([...Object.values(SETTINGS_OF).flatMap(namesOf), ...namesOf(DEV_SETTINGS)])]

/** Variables of this repository's tests. */
const TEST_VARIABLE = /^SVC_TEST_/u

/** A misspelt setting would otherwise be ignored in silence. */
const unknownWarning = (name: string): string => {
  const meant = didYouMean(name, KNOWN)
  return `${name} is no setting${meant === undefined ? "; see --help" : `; was ${meant} meant?`}`
}

/** Settings of `svc serve` that the development server supplies itself. */
const SET_BY_DEV = new Set(namesOf(SERVER_SETTINGS).filter((name) => !namesOf(DEV_SETTINGS).includes(name)))

/** Warnings about variables that have no effect; they quote no value. */
export const settingWarnings = (
  env: Readonly<Record<string, string | undefined>>,
  command: "svc" | "dev"
): ReadonlyArray<string> => {
  const names = Object.keys(env).filter(
    (name) => name.startsWith("SVC_") && !TEST_VARIABLE.test(name) && env[name]
  )
  return names.flatMap((name) => {
    if (!KNOWN.includes(name)) return unknownWarning(name)
    return command === "dev" && SET_BY_DEV.has(name)
      ? `${name} has no effect on the development server, which sets that itself`
      : []
  })
}

/** Prints the warnings to standard error. */
export const printSettingWarnings = (command: "svc" | "dev"): Effect.Effect<void> =>
  Effect.forEach(settingWarnings(process.env, command), (line) => Console.error(`warning: ${line}`), {
    discard: true
  })
