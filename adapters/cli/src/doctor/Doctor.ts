import { Effect } from "effect"
import { examine, type Finding } from "./Check.ts"
import {
  certificateCheck,
  certificateFacts,
  nameCheck,
  nameFacts,
  type PublicOrigin
} from "./NetworkChecks.ts"
import { ORIGIN_CHECKS, type OriginFacts, originFacts } from "./OriginChecks.ts"
import { settingFindings, type Variables } from "./SettingChecks.ts"
import { type StoreQuestions, storeFindings } from "./StoreFindings.ts"
import { processOffset, TIME_ZONE_CHECKS, timeZoneFacts } from "./TimeZoneChecks.ts"

const publicOrigins = ({ approvalBaseUrl, baseUrl }: OriginFacts): ReadonlyArray<PublicOrigin> => [
  ...(baseUrl === undefined ? [] : [{ serves: "api" as const, url: new URL(baseUrl) }]),
  ...(approvalBaseUrl === undefined ? [] : [{ serves: "approval" as const, url: new URL(approvalBaseUrl) }])
]

const originFindings = Effect.gen(function* () {
  const facts = yield* originFacts
  const network = yield* Effect.forEach(
    publicOrigins(facts),
    (origin) =>
      Effect.all([
        examine(nameFacts(origin), [nameCheck(origin.serves)]),
        examine(certificateFacts(origin), [certificateCheck(origin.serves)])
      ]),
    { concurrency: "unbounded" }
  )
  return [...(yield* examine(Effect.succeed(facts), ORIGIN_CHECKS)), ...network.flat(2)]
})

const timeZoneFindings = examine(
  Effect.sync(() => timeZoneFacts(processOffset, process.versions.tz)),
  TIME_ZONE_CHECKS
)

/** Asks everything, whatever else cannot be asked. It changes nothing. */
export const diagnose = (
  questions: StoreQuestions & { readonly variables: Variables }
): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.map(
    Effect.all(
      [settingFindings(questions.variables), originFindings, storeFindings(questions), timeZoneFindings],
      { concurrency: "unbounded" }
    ),
    (findings) => findings.flat()
  )
