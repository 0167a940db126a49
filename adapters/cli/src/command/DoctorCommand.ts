import { Console, Effect } from "effect"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { isUnsound, reportForPeople, reportForPrograms } from "../doctor/DoctorReport.ts"
import { CheckFailed } from "../start/RunCommand.ts"
import type { Command } from "./Command.ts"
import { readOptions } from "./CommandOptions.ts"

/** `svc doctor`: whether a deployment is sound, and what to do where it is not. */
export const doctorCommand: Command = {
  name: "doctor",
  help: helpOf(
    `svc doctor: examines a deployment with the settings of its servers, from the machine that it runs on: settings, origins, DNS
and TLS, the database and its schema, history and keys, organizations, workers, webhooks, and time zone data. Says what was
found and what to do. It changes nothing and prints no secret. Where the database cannot be reached, the rest is examined.

  --webhooks   also connects to active webhook endpoints, under the guard that deliveries pass; sends nothing
  --strict     exits 1 for warnings too
  --json       prints JSON: {"status", "checks": [{"check", "status", "found", "remedy"}]}

Each check is ok, warning, failed, or skipped (it does not apply or could not be made). Exits 0 if none failed, else 1.

Examples:

  svc doctor
  svc doctor --webhooks --json | jq -r '.checks[] | select(.status == "failed") | .check'`,
    SETTINGS_OF.doctor
  ),
  run: Effect.fnUntraced(function* (words) {
    const { json, strict, webhooks } = yield* readOptions(
      { webhooks: "flag", strict: "flag", json: "flag" },
      words
    )
    // Not for --help, which would load the drivers of the database.
    const { diagnose } = yield* Effect.promise(() => import("../doctor/Doctor.ts"))
    const findings = yield* diagnose({ isReachAsked: webhooks, variables: process.env })
    yield* Console.log(
      json ? JSON.stringify(reportForPrograms(findings), null, 2) : reportForPeople(findings)
    )
    if (isUnsound(findings, strict)) return yield* new CheckFailed({})
  })
}
