import { randomBytes } from "node:crypto"
import { userInfo } from "node:os"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { OperatorLog } from "@svc/domain/ports/OperatorLog"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { Console, Effect, identity, References } from "effect"
import { storeConfig } from "../config/Config.ts"
import * as CommandLog from "../start/CommandLog.ts"
import { databaseFault } from "../start/DatabaseFault.ts"
import { CheckFailed } from "../start/RunCommand.ts"
import { type StartFault, validateAll } from "../start/StartFault.ts"
import { storageLayer } from "../start/StoreLayer.ts"
import type { Command } from "./Command.ts"
import { printableJson } from "./PrintableText.ts"

/** What a command does to the store once it has been recorded. */
export interface Operation {
  /** Empty for an operation on the whole deployment. */
  readonly organization: string
  /** The result is printed. */
  readonly act: Effect.Effect<object, StartFault | StoreUnavailable, PostgresPorts>
}

/**
 * A command on the store. Its options and settings are checked before the store is opened, and it is recorded in the
 * operator log before it changes anything.
 */
export interface StoreCommand extends Omit<Command, "run"> {
  /** Checks words and settings; the effect it returns reads the store and decides what to do. */
  readonly plan: (
    words: ReadonlyArray<string>
  ) => Effect.Effect<Effect.Effect<Operation, StartFault | StoreUnavailable, PostgresPorts>, StartFault>
  /** Whether the first use of an embedded store may be this command with these words, which then makes its database. */
  readonly makesFolder?: (words: ReadonlyArray<string>) => boolean
  /** Whether nothing is logged beside the result, since the store would report the very state that the command is to end. */
  readonly isSilent?: true
  /** The result as a person reads it, which `--json` replaces by JSON. Default: JSON. */
  readonly textOf?: (answer: object) => string
  /** Whether what is printed is bad news, so that the command exits 1. */
  readonly isFailure?: (answer: object) => boolean
  /** The same for a person at a terminal alone: programs that read the output have JSON without asking for it. */
  readonly terminalTextOf?: (answer: object) => string
}

const ENTRY_BYTES = 16

/** Secrets among the words are not recorded. */
const SECRET = /svc_(?:test|live|wh)_\S*/gu

const operator = (): string => {
  try {
    return userInfo().username
  } catch {
    // The user id has no entry in the user database.
    return `uid ${process.getuid?.() ?? "unknown"}`
  }
}

const recordInLog = Effect.fnUntraced(function* (
  command: string,
  words: ReadonlyArray<string>,
  organization: string
) {
  const log = yield* OperatorLog
  yield* log.record({
    organization,
    entry: encodeBase64Url(new Uint8Array(randomBytes(ENTRY_BYTES))),
    operator: operator(),
    command,
    arguments: words.map((word) => word.replaceAll(SECRET, "[removed]"))
  })
})

/** `--json` is accepted by all; most of these commands print nothing else. */
const withoutJson = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.filter((word) => word !== "--json")

/** Runs a command on the given store: checks it, records it in the operator log, and acts. Returns what is printed. */
export const runStoreCommand = Effect.fnUntraced(function* (
  { name, plan }: StoreCommand,
  words: ReadonlyArray<string>,
  storage: <A, E>(work: Effect.Effect<A, E, PostgresPorts>) => Effect.Effect<A, E | StartFault>
): Effect.fn.Return<object, StartFault> {
  const given = withoutJson(words)
  const operation = yield* plan(given)
  return yield* storage(
    Effect.gen(function* () {
      const { act, organization } = yield* operation
      yield* recordInLog(name, given, organization)
      return yield* act
    })
  ).pipe(Effect.catchTag("StoreUnavailable", (fault) => Effect.fail(databaseFault(fault, undefined))))
})

/** What a command prints of its result. */
export const printedText = (
  { terminalTextOf, textOf }: Pick<StoreCommand, "textOf" | "terminalTextOf">,
  words: ReadonlyArray<string>,
  answer: object,
  isTerminal = false
): string => {
  const text = isTerminal ? (terminalTextOf ?? textOf) : textOf
  return text === undefined || words.includes("--json") ? printableJson(answer, 2) : text(answer)
}

/** The command of `svc` that runs on the store that `SVC_STORE` names and prints its result. */
export const asCommand = (command: StoreCommand): Command => ({
  name: command.name,
  help: command.help,
  run: (words) =>
    Effect.gen(function* () {
      const { store } = yield* validateAll({ plan: command.plan(withoutJson(words)), store: storeConfig })
      const answer = yield* runStoreCommand(command, words, (work) =>
        Effect.provide(
          work,
          storageLayer(store, {
            migrations: "require",
            requiresFolder: command.makesFolder?.(words) !== true
          })
        )
      ).pipe(
        Effect.provide(CommandLog.layer(command.name)),
        command.isSilent === true ? Effect.provideService(References.MinimumLogLevel, "None") : identity
      )
      yield* Console.log(printedText(command, words, answer, process.stdout.isTTY === true))
      if (command.isFailure?.(answer) === true) return yield* new CheckFailed({})
    })
})
