import { Console, Effect } from "effect"
import { badUsage } from "../start/StartFault.ts"
import { COMMANDS, groupOf, isHelpAsked, type ListedCommand, toldAtOnce } from "./CommandList.ts"

/** Words that can be told in a line; whatever else was given may be a secret in the wrong place. */
const tellable = (words: ReadonlyArray<string>): string => {
  const told = words.slice(0, 2).filter((word) => /^[a-z][a-z-]{0,31}$/u.test(word))
  return told.length === 0 ? "" : ` "${told.join(" ")}"`
}

/** What is wrong with words that begin no command, and what there is instead. */
const lineOn = (words: ReadonlyArray<string>, group: ReadonlyArray<ListedCommand>): string => {
  if (words.length === 0) return "a command is missing; see svc --help"
  if (group.length === 0) return `unknown command${tellable(words)}; see svc --help`
  const there = `there is ${group.map(({ name }) => `svc ${name}`).join(", ")}; see svc ${words[0]} --help`
  return words.length === 1
    ? `a subcommand is missing: ${there}`
    : `unknown command${tellable(words)}: ${there}`
}

/** What `svc` does with its words, and the name that it goes by in what it says. */
export interface Invocation {
  readonly name: string
  readonly run: Effect.Effect<unknown, unknown>
}

const carryOut = Effect.fnUntraced(function* ({ load }: ListedCommand, words: ReadonlyArray<string>) {
  const command = yield* Effect.promise(load)
  if (isHelpAsked(words)) return yield* Console.log(command.help.trimEnd())
  const { warnOfSettings } = yield* Effect.promise(() => import("../config/Config.ts"))
  yield* warnOfSettings("svc")
  yield* command.run(words)
})

/** Finds the command that the words begin with. An unknown one ends with a line and exit code 64. */
export const svc = (words: ReadonlyArray<string>): Invocation => {
  const command = COMMANDS.find(({ name }) => name.split(" ").every((part, at) => words[at] === part))
  if (command !== undefined) {
    const rest = words.slice(command.name.split(" ").length)
    return { name: `svc ${command.name}`, run: carryOut(command, rest) }
  }
  const told = toldAtOnce(words)
  if (told !== undefined) return { name: "svc", run: Console.log(told) }
  return { name: "svc", run: Effect.fail(badUsage(lineOn(words, groupOf(words[0])))) }
}
