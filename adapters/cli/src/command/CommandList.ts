import { version } from "../start/Version.ts"
import type { Command } from "./Command.ts"
import { COMMAND_HELP } from "./CommandHelp.ts"
import type { StoreCommand } from "./StoreCommand.ts"

/*
 * The names and summaries of the commands. It imports none of them, so that help and version print without loading Effect.
 */

/** A command of `svc` by name, before its module is loaded. */
export interface ListedCommand {
  /** Its words after `svc`, such as `organization create`. */
  readonly name: string
  /** What it does, in one line. */
  readonly summary: string
  readonly load: () => Promise<Command>
}

interface Group {
  readonly summaries: Readonly<Record<string, string>>
  readonly load: () => Promise<ReadonlyArray<Command>>
}

const storeCommands = async (load: Promise<ReadonlyArray<StoreCommand>>): Promise<ReadonlyArray<Command>> => {
  const { asCommand } = await import("./StoreCommand.ts")
  return (await load).map(asCommand)
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
    summaries: { doctor: "examines a deployment and says what to do" },
    load: async () => [(await import("./DoctorCommand.ts")).doctorCommand]
  },
  {
    summaries: {
      "organization create": "creates an organization",
      "organization list": "lists the organizations of the deployment",
      "organization update": "changes settings of an organization",
      "organization show": "prints an organization and its settings"
    },
    load: () =>
      storeCommands(import("./OrganizationCommands.ts").then((module) => module.organizationCommands))
  },
  {
    summaries: {
      "api-key create": "creates an API key and prints it once",
      "api-key list": "lists the API keys of an organization",
      "api-key rotate": "creates a key in place of another, which expires after a while",
      "api-key revoke": "revokes an API key for good"
    },
    load: () => storeCommands(import("./ApiKeyCommands.ts").then((module) => module.apiKeyCommands))
  },
  {
    summaries: {
      "signing-key rotate": "publishes a new signing key, which signs after 900 s",
      "signing-key withdraw": "withdraws a compromised signing key from the key set at once",
      "signing-key list": "lists the signing keys and their states"
    },
    load: () => storeCommands(import("./SigningKeyCommands.ts").then((module) => module.signingKeyCommands))
  },
  {
    summaries: { "master-key create": "prints a new master key, encrypted in a key management service" },
    load: async () => [(await import("./MasterKeyCreateCommand.ts")).masterKeyCreateCommand]
  },
  {
    summaries: {
      "master-key rewrap": "seals what the store keeps secret under a new master key"
    },
    load: () => storeCommands(import("./MasterKeyCommands.ts").then((module) => module.masterKeyCommands))
  },
  {
    summaries: {
      "mandate list": "lists the mandates of an organization",
      "mandate show": "prints a mandate, its newest authorizations and latest events",
      "mandate events": "prints the journal of a mandate",
      "authorization list": "lists the authorizations of a mandate",
      "authorization show": "prints an authorization",
      "webhook-endpoint list": "lists the webhook endpoints of an organization",
      "webhook-endpoint deliveries": "lists the deliveries to a webhook endpoint with their attempts",
      "webhook-endpoint redeliver": "delivers again what a webhook endpoint missed",
      "webhook-endpoint purge": "gives up the deliveries that wait for a webhook endpoint",
      "event list": "lists the events of all mandates of an organization"
    },
    load: () =>
      storeCommands(
        Promise.all([
          import("./SupportCommands.ts"),
          import("./RedeliveryCommands.ts"),
          import("./PurgeCommand.ts")
        ]).then(([{ supportCommands }, { redeliveryCommands }, { purgeCommands }]) => [
          ...supportCommands,
          ...redeliveryCommands,
          ...purgeCommands
        ])
      )
  },
  {
    summaries: { "events tail": "prints the events of an organization as they come" },
    load: async () => [(await import("./TailCommand.ts")).tailCommand]
  },
  {
    summaries: {
      "mandate archive":
        "writes the evidence of ended mandates to a folder or bucket, and may remove their rows"
    },
    load: () => storeCommands(import("./ArchiveCommands.ts").then((module) => module.archiveCommands))
  },
  {
    summaries: { "subject erase": "says what is on record of an end user, and erases what can go" },
    load: () => storeCommands(import("./SubjectCommands.ts").then((module) => module.subjectCommands))
  },
  {
    summaries: { "operator-log": "prints the commands that operators ran on the store" },
    load: () => storeCommands(import("./OperatorLogCommands.ts").then((module) => module.operatorLogCommands))
  },
  {
    summaries: {
      "store acknowledge-history": "confirms that a restored or replaced database is to be used"
    },
    load: () => storeCommands(import("./HistoryCommands.ts").then((module) => module.historyCommands))
  },
  {
    summaries: { "store missing": "lists what another database has and the store has not" },
    load: async () => [(await import("./MissingCommand.ts")).missingCommand]
  },
  {
    summaries: { listen: "forwards events of a running server to a local address, as webhooks are sent" },
    load: async () => [(await import("./ListenCommand.ts")).listenCommand]
  },
  {
    summaries: {
      "evidence verify": "verifies the evidence of a mandate, offline and in full",
      "evidence replay": "verifies evidence and prints it event by event, with each decision and budget",
      "evidence diff": "verifies that later evidence continues earlier evidence",
      "evidence viewer": "prints one HTML file that verifies evidence in a browser, offline, and shows it"
    },
    load: async () => (await import("./EvidenceCommands.ts")).evidenceCommands
  },
  {
    summaries: {
      "webhook verify": "verifies the signature of a webhook, whose raw body it reads from standard input"
    },
    load: async () => (await import("./WebhookCommands.ts")).webhookCommands
  },
  {
    summaries: { completion: "prints what makes a shell complete these commands: bash, zsh or fish" },
    load: async () => [(await import("./CompletionCommand.ts")).completionOf(COMMANDS)]
  }
]

const loaded = async (name: string, { load }: Group): Promise<Command> => {
  const command = (await load()).find((one) => one.name === name)
  if (command === undefined) throw new Error(`svc ${name} is listed but not implemented`)
  return command
}

/** Every command of `svc`, in the order of its help. */
export const COMMANDS: ReadonlyArray<ListedCommand> = GROUPS.flatMap((group) =>
  Object.entries(group.summaries).map(([name, summary]) => ({
    name,
    summary,
    load: () => loaded(name, group)
  }))
)

const HELP = ["--help", "-h"]

const asksForHelp = (words: ReadonlyArray<string>): boolean => words.some((word) => HELP.includes(word))

const NAME_WIDTH = Math.max(...COMMANDS.map(({ name }) => name.length))

const listOf = (commands: ReadonlyArray<ListedCommand>): string =>
  commands.map(({ name, summary }) => `  svc ${name.padEnd(NAME_WIDTH)}   ${summary}\n`).join("")

const helpOn = (commands: ReadonlyArray<ListedCommand>): string => `svc: mandate-bound authorization

${listOf(commands)}
"svc <command> --help" prints the options and settings of a command, "svc --version" the version.`

/** The commands of a group such as `organization`. */
export const groupOf = (word: string | undefined): ReadonlyArray<ListedCommand> =>
  COMMANDS.filter(({ name }) => name.startsWith(`${word} `))

/** The command that the words begin with. */
export const commandOf = (words: ReadonlyArray<string>): ListedCommand | undefined =>
  COMMANDS.find(({ name }) => name.split(" ").every((part, at) => words[at] === part))

/** The words that follow the name of a command. */
export const wordsAfter = ({ name }: ListedCommand, words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.slice(name.split(" ").length)

/** The answer to words that ask for the version, or for help on a command, a group of them or all. */
export const overviewOf = (words: ReadonlyArray<string>): string | undefined => {
  if (words.length === 1 && words[0] === "--version") return version()
  const command = commandOf(words)
  if (command !== undefined)
    return asksForHelp(wordsAfter(command, words)) ? COMMAND_HELP[command.name] : undefined
  const group = groupOf(words[0])
  const isKnown = group.length > 0 ? words.length === 2 : words.length === 1
  return asksForHelp(words) && isKnown ? helpOn(group.length > 0 ? group : COMMANDS) : undefined
}
