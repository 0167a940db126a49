import { type HostAnswer, writableOf } from "@svc/store-postgres/connection/HostAnswer"
import { nameOfHost } from "@svc/store-postgres/connection/PostgresUrl"
import { Result } from "effect"
import { describeAnswer } from "../start/DatabaseFault.ts"
import { type Check, failed, ok, warning } from "./Check.ts"

type Standby = Extract<HostAnswer, { readonly kind: "standby" }>

const clusterIn = (answers: ReadonlyArray<HostAnswer>): string | null =>
  answers.find((answer) => answer.kind === "writable")?.identity.cluster ?? null

const isOfAnother = ({ cluster }: Standby, used: string | null): boolean =>
  cluster !== null && used !== null && cluster !== used

/** What is wrong with a host that is not used now; it could not take over. */
const weakness = (answer: HostAnswer): string | undefined => {
  if (answer.kind === "standby")
    return answer.follows ? undefined : "it is a standby that follows no primary now"
  return answer.kind === "writable" ? undefined : describeAnswer(answer)
}

/** The hosts that `SVC_STORE` lists: which one is used, and whether the others could take its place. */
export const hostsCheck: Check<ReadonlyArray<HostAnswer>> = {
  name: "database.hosts",
  judge: (answers) => {
    const used = writableOf(answers)
    if (Result.isFailure(used)) {
      return failed(used.failure.message, "let one host alone take writes, the primary")
    }
    const others = answers.filter((answer) => nameOfHost(answer) !== nameOfHost(used.success))
    const told = `${nameOfHost(used.success)} takes writes and is used`
    const foreign = others.filter(
      (answer) => answer.kind === "standby" && isOfAnother(answer, clusterIn(answers))
    )
    if (foreign.length > 0) {
      return failed(
        `${told}; ${foreign.map(nameOfHost).join(", ")}: a standby of another cluster, which has none of this data`,
        "take it out of SVC_STORE, or make it a standby of this primary"
      )
    }
    const weak = others.flatMap((answer) => {
      const fault = weakness(answer)
      return fault === undefined ? [] : `${nameOfHost(answer)}: ${fault}`
    })
    return weak.length > 0
      ? warning(`${told}; ${weak.join("; ")}`, "see to the others, which could not take its place now")
      : ok([told, ...others.map((other) => `${nameOfHost(other)}: ${describeAnswer(other)}`)].join("; "))
  }
}
