import { randomBytes } from "node:crypto"
import { userInfo } from "node:os"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { OperatorLog } from "@svc/domain/ports/OperatorLog"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { Console, Effect, Logger } from "effect"
import { storeConfig } from "../config/Config.ts"
import { databaseFault } from "../start/DatabaseFault.ts"
import { allOf, type StartFault } from "../start/StartFault.ts"
import { storageLayer } from "../start/StoreLayer.ts"
import type { Command } from "./Command.ts"

/** What a command is about to do to the store. */
export interface Operation {
  /** Empty where it is about the whole deployment. */
  readonly organization: string
  /** Gives what is printed. */
  readonly act: Effect.Effect<object, StartFault | StoreUnavailable, PostgresPorts>
}

/** A command on the store, in three steps: bad options are told before the store is opened, and nothing is done to it
 * before the command is in the operator log. */
export interface StoreCommand extends Omit<Command, "run"> {
  /** Checks the words and reads settings; gives what looks into the store and says what is to be done. */
  readonly read: (
    words: ReadonlyArray<string>
  ) => Effect.Effect<Effect.Effect<Operation, StartFault | StoreUnavailable, PostgresPorts>, StartFault>
}

const ENTRY_BYTES = 16

/** A secret in the wrong place is not kept. */
const SECRET = /svc_(?:test|live|wh)_\S*/gu

const operator = (): string => {
  try {
    return userInfo().username
  } catch {
    // A user that the system has no name for.
    return `uid ${process.getuid?.() ?? "unknown"}`
  }
}

const recorded = Effect.fnUntraced(function* (
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

/** Every such command takes `--json`, and prints JSON anyway. */
const withoutJson = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.filter((word) => word !== "--json")

/** Carries out a command on the store at hand: checked, recorded in the operator log, done. Gives what is printed. */
export const answerOf = Effect.fnUntraced(function* (
  { name, read }: StoreCommand,
  words: ReadonlyArray<string>,
  storage: <A, E>(work: Effect.Effect<A, E, PostgresPorts>) => Effect.Effect<A, E | StartFault>
): Effect.fn.Return<object, StartFault> {
  const given = withoutJson(words)
  const plan = yield* read(given)
  return yield* storage(
    Effect.gen(function* () {
      const { act, organization } = yield* plan
      yield* recorded(name, given, organization)
      return yield* act
    })
  ).pipe(Effect.catchTag("StoreUnavailable", (fault) => Effect.fail(databaseFault(fault, undefined))))
})

/** What the store has to tell goes where it does not mix with the answer. */
const logToStandardError = Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])

/** A command on the store that `SVC_STORE` names, answered as JSON (part 9). */
export const onStore = (command: StoreCommand): Command => ({
  name: command.name,
  help: command.help,
  run: (words) =>
    Effect.gen(function* () {
      const { store } = yield* allOf({ plan: command.read(withoutJson(words)), store: storeConfig })
      const answer = yield* answerOf(command, words, (work) =>
        Effect.provide(work, storageLayer(store, { migrations: "require" }))
      ).pipe(Effect.provide(logToStandardError))
      yield* Console.log(JSON.stringify(answer, null, 2))
    })
})
