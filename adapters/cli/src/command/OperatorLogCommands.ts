import { OperatorLog, type RecordedEntry } from "@svc/domain/ports/OperatorLog"
import { formatNanos } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { limitOption, readOptions } from "./CommandOptions.ts"
import { listTable } from "./ListTable.ts"
import { findOrganization } from "./OrganizationCommands.ts"
import type { StoreCommand } from "./StoreCommand.ts"

const DEFAULT_ENTRIES = 50
const MAX_ENTRIES = 1000

const shown = ({ arguments: given, at, command, operator }: RecordedEntry): object => ({
  at: formatNanos(at),
  operator,
  command,
  arguments: given
})

const operatorLog: StoreCommand = {
  name: "operator-log",
  help: helpOf(
    `svc operator-log: prints the commands on the store that operators ran, newest first, this one included: those on the whole
deployment, or those on one organization. Secrets among their words are not on record. A table on a terminal, else JSON; --json
prints JSON there too.

  --organization <id>   the commands on this organization
  --limit <1-${MAX_ENTRIES}>      how many; default ${DEFAULT_ENTRIES}`,
    SETTINGS_OF.store
  ),
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions({ organization: "one", limit: "one" }, words)
    const limit = yield* limitOption(options.limit, { byDefault: DEFAULT_ENTRIES, most: MAX_ENTRIES })
    return Effect.gen(function* () {
      const organization =
        options.organization === undefined ? "" : (yield* findOrganization(options.organization)).id
      const log = yield* OperatorLog
      return {
        organization,
        act: Effect.map(log.latest(organization, limit), (entries) => ({ data: entries.map(shown) }))
      }
    })
  }),
  terminalTextOf: listTable([
    ["AT", "at"],
    ["OPERATOR", "operator"],
    ["COMMAND", "command"],
    ["ARGUMENTS", "arguments"]
  ])
}

export const operatorLogCommands: ReadonlyArray<StoreCommand> = [operatorLog]
