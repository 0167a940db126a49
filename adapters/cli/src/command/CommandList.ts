import { readFileSync } from "node:fs"
import type { Command } from "./Command.ts"
import type { StoreCommand } from "./StoreCommand.ts"

/*
 * What can be told of the commands without any of them: their modules, and Effect with them, are loaded when one runs.
 */

/** A command of `svc` by name, before its module is loaded. */
export interface ListedCommand {
  /** Its words, such as `organization create`. */
  readonly name: string
  /** In a line, what it does. */
  readonly summary: string
  readonly load: () => Promise<Command>
}

interface Group {
  readonly summaries: Readonly<Record<string, string>>
  readonly load: () => Promise<ReadonlyArray<Command>>
}

const onStoreAll = async (load: Promise<ReadonlyArray<StoreCommand>>): Promise<ReadonlyArray<Command>> => {
  const { onStore } = await import("./StoreCommand.ts")
  return (await load).map(onStore)
}

const GROUPS: ReadonlyArray<Group> = [
  {
    summaries: { serve: "the API, the approval pages and a worker" },
    load: async () => [(await import("./ServeCommand.ts")).serveCommand]
  },
  {
    summaries: { worker: "the background work alone, on a Postgres server" },
    load: async () => [(await import("./WorkerCommand.ts")).workerCommand]
  },
  {
    summaries: { migrate: "brings the schema of a Postgres server up to date" },
    load: async () => [(await import("./MigrateCommand.ts")).migrateCommand]
  },
  {
    summaries: {
      "organization create": "makes an organization",
      "organization update": "changes settings of an organization",
      "organization show": "prints an organization and its settings"
    },
    load: () => onStoreAll(import("./OrganizationCommands.ts").then((module) => module.organizationCommands))
  },
  {
    summaries: {
      "api-key create": "makes an API key and shows it, once",
      "api-key list": "lists the API keys of an organization",
      "api-key revoke": "revokes an API key, in every process"
    },
    load: () => onStoreAll(import("./ApiKeyCommands.ts").then((module) => module.apiKeyCommands))
  },
  {
    summaries: {
      "signing-key rotate": "publishes a new signing key, which signs after 900 s",
      "signing-key withdraw":
        "takes a compromised signing key out of the key set, and another signs, at once",
      "signing-key list": "lists the signing keys and says which of them signs"
    },
    load: () => onStoreAll(import("./SigningKeyCommands.ts").then((module) => module.signingKeyCommands))
  },
  {
    summaries: {
      "store acknowledge-history": "says that the database went back or was replaced, and goes on from there"
    },
    load: () => onStoreAll(import("./HistoryCommands.ts").then((module) => module.historyCommands))
  },
  {
    summaries: { listen: "forwards events of a running server to a local address, as webhooks are sent" },
    load: async () => [(await import("./ListenCommand.ts")).listenCommand]
  },
  {
    summaries: {
      "webhook verify": "checks the signature of a webhook whose raw body comes on the standard input"
    },
    load: async () => (await import("./WebhookCommands.ts")).webhookCommands
  }
]

const loaded = async (name: string, { load }: Group): Promise<Command> => {
  const command = (await load()).find((one) => one.name === name)
  if (command === undefined) throw new Error(`svc ${name} is listed, but not there`)
  return command
}

/** Every command of `svc`, in the order in which they are listed. */
export const COMMANDS: ReadonlyArray<ListedCommand> = GROUPS.flatMap((group) =>
  Object.entries(group.summaries).map(([name, summary]) => ({
    name,
    summary,
    load: () => loaded(name, group)
  }))
)

const HELP = ["--help", "-h"]

export const isHelpAsked = (words: ReadonlyArray<string>): boolean =>
  words.some((word) => HELP.includes(word))

const NAME_WIDTH = Math.max(...COMMANDS.map(({ name }) => name.length))

const listOf = (commands: ReadonlyArray<ListedCommand>): string =>
  commands.map(({ name, summary }) => `  svc ${name.padEnd(NAME_WIDTH)}   ${summary}\n`).join("")

const helpOn = (commands: ReadonlyArray<ListedCommand>): string => `svc: mandate-bound authorization

${listOf(commands)}
"svc <command> --help" tells the options of a command and the settings that it reads; "svc --version" the version.`

const version = (): string => {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8")
  return (JSON.parse(text) as { readonly version: string }).version
}

/** The commands that begin with this word, such as `organization`. */
export const groupOf = (word: string | undefined): ReadonlyArray<ListedCommand> =>
  COMMANDS.filter(({ name }) => name.startsWith(`${word} `))

/** What is told without any command: the list, that of a group, or the version. */
export const toldAtOnce = (words: ReadonlyArray<string>): string | undefined => {
  if (words.length === 1 && words[0] === "--version") return version()
  const group = groupOf(words[0])
  const isKnown = group.length > 0 ? words.length === 2 : words.length === 1
  return isHelpAsked(words) && isKnown ? helpOn(group.length > 0 ? group : COMMANDS) : undefined
}
