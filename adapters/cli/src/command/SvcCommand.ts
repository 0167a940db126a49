import { didYouMean } from "@svc/protocol/DidYouMean"
import { Console, Effect } from "effect"
import { usageFault } from "../start/StartFault.ts"
import { COMMANDS, commandOf, groupOf, type ListedCommand, overviewOf, wordsAfter } from "./CommandList.ts"

/** The unknown command, if it looks like one; anything else may be a misplaced secret. */
const quotedCommand = (words: ReadonlyArray<string>): string => {
  const quotable = words.slice(0, 2).filter((word) => /^[a-z][a-z-]{0,31}$/u.test(word))
  return quotable.length === 0 ? "" : ` "${quotable.join(" ")}"`
}

/** The question whether another first word was meant. */
const meantCommand = (word: string): string => {
  const meant = didYouMean(
    word,
    COMMANDS.map(({ name }) => name.split(" ", 1)[0] ?? name)
  )
  return meant === undefined ? "" : ` (was svc ${meant} meant?)`
}

/** The message about words that name no command. */
const unknownCommand = (words: ReadonlyArray<string>, group: ReadonlyArray<ListedCommand>): string => {
  if (words.length === 0) return "a command is missing; see svc --help"
  const quoted = quotedCommand(words)
  if (group.length === 0)
    return `unknown command${quoted}${quoted === "" ? "" : meantCommand(words[0] ?? "")}; see svc --help`
  const alternatives = `there is ${group.map(({ name }) => `svc ${name}`).join(", ")}; see svc ${words[0]} --help`
  return words.length === 1
    ? `a subcommand is missing: ${alternatives}`
    : `unknown command${quoted}: ${alternatives}`
}

/** What `svc` runs for its words, and the name that prefixes its messages. */
export interface Invocation {
  readonly name: string
  readonly run: Effect.Effect<unknown, unknown>
}

const runListed = Effect.fnUntraced(function* ({ load }: ListedCommand, words: ReadonlyArray<string>) {
  const command = yield* Effect.promise(load)
  const { printSettingWarnings } = yield* Effect.promise(() => import("../config/SettingWarnings.ts"))
  yield* printSettingWarnings("svc")
  yield* command.run(words)
})

/** The command that the words begin with; unknown words fail with exit code 64. */
export const svc = (words: ReadonlyArray<string>): Invocation => {
  const overview = overviewOf(words)
  if (overview !== undefined) return { name: "svc", run: Console.log(overview) }
  const command = commandOf(words)
  if (command !== undefined)
    return { name: `svc ${command.name}`, run: runListed(command, wordsAfter(command, words)) }
  return { name: "svc", run: Effect.fail(usageFault(unknownCommand(words, groupOf(words[0])))) }
}
