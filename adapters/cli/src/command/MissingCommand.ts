import type { MissingRecords } from "@svc/store-postgres/diagnosis/MissingRecords"
import { Console, Effect } from "effect"
import { comparedStoresConfig } from "../config/Config.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { counted } from "../doctor/Check.ts"
import { type Comparison, isMissingAny, POSSIBLE_COPY } from "../doctor/Comparison.ts"
import { CheckFailed } from "../start/RunCommand.ts"
import type { Command } from "./Command.ts"
import { readOptions } from "./CommandOptions.ts"
import { printable, printableJson } from "./PrintableText.ts"
import { textTable } from "./TextTable.ts"

const byOrganization = ({ authorizations, mandates }: MissingRecords) => {
  const ids = [...new Set(mandates.map(({ organization_id: id }) => id))]
  return ids.map((id) => {
    const its = mandates.filter(({ organization_id: of }) => of === id)
    return {
      organization_id: id,
      mandates: its.length,
      missing_mandates: its.filter(({ events_here: here }) => here === 0).length,
      missing_events: its.reduce((sum, { missing }) => sum + missing.length, 0),
      authorizations: authorizations.filter(({ organization_id: of }) => of === id).length
    }
  })
}

/** What is missing, as a person reads it. */
const textOf = (found: Comparison): string => {
  const { authorizations, mandates, mandates_compared: compared, operator_commands: commands } = found
  if (found.other_may_be_copy) return `${POSSIBLE_COPY.found}; ${POSSIBLE_COPY.remedy}`
  if (!isMissingAny(found)) return `nothing is missing: ${counted(compared, "mandate")} compared`
  const tables = [
    textTable(
      ["ORGANIZATION", "MANDATES", "OF THEM GONE", "EVENTS", "AUTHORIZATIONS"],
      byOrganization(found).map((one) => Object.values(one).map(String))
    ),
    textTable(
      ["MANDATE", "EVENTS THERE", "HERE", "MISSING EVENTS"],
      mandates.map(
        ({ events_here: here, events_there: there, has_diverged: diverged, mandate_id: id, missing }) => [
          id,
          String(there),
          `${here}${diverged ? ", others in their place" : ""}`,
          missing.map(({ type }) => type).join(" ")
        ]
      )
    ),
    textTable(
      ["AUTHORIZATION", "STATE THERE", "STATE HERE"],
      authorizations.map(({ authorization_id: id, state_here: here, state_there: there }) => [
        id,
        there,
        here ?? "missing"
      ])
    ),
    textTable(
      ["AT", "OPERATOR", "COMMAND", "ARGUMENTS", "ORGANIZATION"],
      commands.map(({ arguments: words, at, command, operator, organization_id: organization }) =>
        [at, operator, command, words.join(" ") || undefined, organization || undefined].map((cell) =>
          cell === undefined ? undefined : printable(cell)
        )
      )
    )
  ]
  return [...tables.filter((table) => table.includes("\n")), `${counted(compared, "mandate")} compared`].join(
    "\n\n"
  )
}

/** `svc store missing`: what a lost database had that the store has not. */
export const missingCommand: Command = {
  name: "store missing",
  help: helpOf(
    `svc store missing: lists what another database has and the store has not, such as a lost primary and the standby that took
its place: mandates and their events, authorizations that are not there or have another state, and commands of
operators that may have changed something, oldest first, with the words that they were given: repeat those. Secrets are not
among the words. Reads both and changes neither. The other one may be a lost primary that was started as a standby, or a standby of it. A
standby of the store itself has what the store has, so one that follows it is refused.

  --json   prints JSON: {"mandates_compared", "organizations", "mandates", "authorizations", "operator_commands",
           "other_may_be_copy"}; the last one is true if nothing is missing only because the other one may be a copy

Exits 0 if nothing is missing, 1 if something is or if that cannot be told.`,
    SETTINGS_OF.storeAndOther
  ),
  run: Effect.fnUntraced(function* (words) {
    const { json } = yield* readOptions({ json: "flag" }, words)
    const { other, store } = yield* comparedStoresConfig
    const { compareStores } = yield* Effect.promise(() => import("../doctor/ComparedStores.ts"))
    const found = yield* compareStores(store, other)
    yield* Console.log(
      json ? printableJson({ ...found, organizations: byOrganization(found) }, 2) : textOf(found)
    )
    if (isMissingAny(found) || found.other_may_be_copy) return yield* new CheckFailed({})
  })
}
