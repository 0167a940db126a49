import { Effect, Result } from "effect"
import { environmentConfig, serverConfig } from "../config/Config.ts"
import { optional } from "../config/Setting.ts"
import { RATE_LIMIT } from "../config/Settings.ts"
import { settingWarnings } from "../config/SettingWarnings.ts"
import { type Check, examine, type Finding, failed, ok, warning } from "./Check.ts"

/** The variables of a process. */
export type Variables = Readonly<Record<string, string | undefined>>

const REMEDY = "set it as svc serve --help says; an empty variable counts as unset"

/** One finding for each setting that `svc serve` would refuse, so that each has its own line. */
const required: Effect.Effect<ReadonlyArray<Finding>> = Effect.map(Effect.result(serverConfig), (read) => {
  if (Result.isSuccess(read)) return [{ check: "settings.server", ...ok("svc serve has all it needs") }]
  return read.failure.line.split("\n").map(
    (line): Finding => ({
      check: `settings.${/^(?:SVC|OTEL)_[A-Z_]+/u.exec(line)?.[0] ?? "server"}`,
      ...failed(line, REMEDY)
    })
  )
})

const unknown: Check<ReadonlyArray<string>> = {
  name: "settings.unknown",
  judge: (warnings) =>
    warnings.length === 0
      ? ok("every variable SVC_... is a setting")
      : warning(warnings.join("; "), "correct or remove what has no effect")
}

const rateLimit: Check<{ readonly environment: string; readonly limit: unknown }> = {
  name: "settings.rate_limit",
  judge: ({ environment, limit }) =>
    environment === "live" && limit === "off"
      ? warning(
          "SVC_RATE_LIMIT=off in the live environment: nothing bounds one caller, nor those who guess keys",
          "set a rate, or limit requests in front of the service"
        )
      : ok(limit === "off" ? "requests are not limited" : "requests of a key are limited")
}

/** Whether `svc serve` would start with these settings, and with which of them it should not be live. */
export const settingFindings = (variables: Variables): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.map(
    Effect.all([
      required,
      examine(Effect.succeed(settingWarnings(variables, "svc")), [unknown]),
      Effect.result(Effect.all({ environment: environmentConfig, limit: optional(RATE_LIMIT) })).pipe(
        // What does not parse is told above.
        Effect.flatMap((read) =>
          Result.isSuccess(read) ? examine(Effect.succeed(read.success), [rateLimit]) : Effect.succeed([])
        )
      )
    ]),
    (findings) => findings.flat()
  )
