import { Console, Effect } from "effect"
import { badUsage } from "../StartFault.ts"
import { apiKeyCommands } from "./ApiKeyCommands.ts"
import type { Command } from "./Command.ts"
import { historyCommands } from "./HistoryCommands.ts"
import { listenCommand } from "./ListenCommand.ts"
import { migrateCommand } from "./MigrateCommand.ts"
import { organizationCommands } from "./OrganizationCommands.ts"
import { serveCommand } from "./ServeCommand.ts"
import { signingKeyCommands } from "./SigningKeyCommands.ts"
import { onStore } from "./StoreCommand.ts"
import { webhookCommands } from "./WebhookCommands.ts"
import { workerCommand } from "./WorkerCommand.ts"

/** Every command of `svc`, in the order in which they are listed. */
export const COMMANDS: ReadonlyArray<Command> = [
  serveCommand,
  workerCommand,
  migrateCommand,
  ...[...organizationCommands, ...apiKeyCommands, ...signingKeyCommands, ...historyCommands].map(onStore),
  listenCommand,
  ...webhookCommands
]

const HELP = ["--help", "-h"]

const isAsked = (words: ReadonlyArray<string>): boolean => words.some((word) => HELP.includes(word))

const NAME_WIDTH = Math.max(...COMMANDS.map(({ name }) => name.length))

const listOf = (commands: ReadonlyArray<Command>): string =>
  commands.map(({ name, summary }) => `  svc ${name.padEnd(NAME_WIDTH)}   ${summary}\n`).join("")

const helpOn = (commands: ReadonlyArray<Command>): string => `svc: mandate-bound authorization

${listOf(commands)}
"svc <command> --help" tells the options of a command and the settings that it reads.
`

/** Words that can be told in a line; whatever else was given may be a secret in the wrong place. */
const tellable = (words: ReadonlyArray<string>): string => {
  const told = words.slice(0, 2).filter((word) => /^[a-z][a-z-]{0,31}$/u.test(word))
  return told.length === 0 ? "" : ` "${told.join(" ")}"`
}

/** What is wrong with words that begin no command, and what there is instead. */
const lineOn = (words: ReadonlyArray<string>, group: ReadonlyArray<Command>): string => {
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

/** Finds the command that the words begin with. An unknown one ends with a line and exit code 64. */
export const svc = (words: ReadonlyArray<string>): Invocation => {
  const command = COMMANDS.find(({ name }) => name.split(" ").every((part, at) => words[at] === part))
  if (command !== undefined) {
    const rest = words.slice(command.name.split(" ").length)
    const run = isAsked(rest) ? Console.log(command.help.trimEnd()) : command.run(rest)
    return { name: `svc ${command.name}`, run }
  }
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${words[0]} `))
  const isKnown = group.length > 0 ? words.length === 2 : words.length === 1
  if (isAsked(words) && isKnown) {
    return { name: "svc", run: Console.log(helpOn(group.length > 0 ? group : COMMANDS).trimEnd()) }
  }
  return { name: "svc", run: Effect.fail(badUsage(lineOn(words, group))) }
}
