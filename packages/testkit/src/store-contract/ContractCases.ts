import { AssertionError } from "node:assert/strict"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { Cause, type Context, Effect, Exit, type Scope } from "effect"
import { absentPortOf } from "../AbsentPort.ts"
import { isTagged, shownValue, wordsOf } from "../FailureWords.ts"
import { type PortCall, plainPorts } from "../PlainPorts.ts"
import { appendContract } from "./AppendContract.ts"
import { claimContract } from "./ClaimContract.ts"
import { cleaningContract } from "./CleaningContract.ts"
import { concurrencyContract } from "./ConcurrencyContract.ts"
import { dueContract } from "./DueContract.ts"
import { type AnotherStore, feedContract, feedHistoryContract } from "./FeedContract.ts"
import { fidelityContract } from "./FidelityContract.ts"
import { healthContract } from "./HealthContract.ts"
import { journalContract } from "./JournalContract.ts"
import { leaseContract } from "./LeaseContract.ts"
import { listContract } from "./ListContract.ts"
import { loadContract } from "./LoadContract.ts"
import { notificationContract } from "./NotificationContract.ts"
import { organizationContract } from "./OrganizationContract.ts"
import type { PortName } from "./PortNames.ts"
import { sessionContract } from "./SessionContract.ts"
import type { StoreClock, StoreIt } from "./StoreUnderTest.ts"
import { subjectContract } from "./SubjectContract.ts"
import { tenantContract } from "./TenantContract.ts"
import { webhookContract } from "./WebhookContract.ts"
import { webhookDeliveryContract } from "./WebhookDeliveryContract.ts"

type Contract = (it: StoreIt, clock: StoreClock, another: AnotherStore | undefined) => void

/** The parts of the contract, each with the port that it is about, in the order in which they run. */
const CONTRACTS: ReadonlyArray<readonly [PortName, Contract]> = [
  ["MandateStore", appendContract],
  ["MandateStore", concurrencyContract],
  ["MandateStore", claimContract],
  ["MandateStore", loadContract],
  ["MandateStore", fidelityContract],
  ["MandateStore", sessionContract],
  ["SubjectStore", subjectContract],
  ["MandateStore", listContract],
  ["DueLeases", dueContract],
  ["DueLeases", leaseContract],
  ["MandateStore", journalContract],
  ["EventFeed", feedContract],
  ["WebhookStore", webhookContract],
  ["WebhookStore", notificationContract],
  ["WebhookStore", webhookDeliveryContract],
  ["StoreCleaning", cleaningContract],
  ["Organizations", organizationContract],
  ["MandateStore", tenantContract],
  ["StoreHealth", healthContract],
  // The last one, since a store may begin anew when it is made once more.
  ["EventFeed", (it, _clock, another) => feedHistoryContract(it, another)]
]

/** One rule of the contract, as a program over the store. It fails or dies where the store breaks the rule. */
export interface ContractCase {
  readonly port: PortName
  readonly group: string
  readonly title: string
  readonly run: Effect.Effect<unknown, unknown, StoragePorts | Scope.Scope>
}

/** Calls before a failure that are told with it. */
const TOLD_CALLS = 3

const wordsOfCall = ({ exit, input, operation }: PortCall): string => {
  const asked = `${operation}(${input.map(shownValue).join(", ")})`
  if (exit === undefined) return `${asked} is under way`
  return Exit.isSuccess(exit)
    ? `${asked} answered ${shownValue(exit.value)}`
    : `${asked} rejected with ${wordsOf(Cause.squash(exit.cause))}`
}

/** The same error, whose message ends with what the store was asked last. */
const told = (error: unknown, calls: ReadonlyArray<PortCall>): unknown => {
  if (absentPortOf(error) !== undefined || calls.length === 0) return error
  const before = error instanceof Error ? error.message : shownValue(error)
  const first = isTagged(error) ? `an operation was refused with ${wordsOf(error)}` : before
  const message = [first, "the last operations were:", ...calls.map((call) => `- ${wordsOfCall(call)}`)].join(
    "\n"
  )
  if (!(error instanceof AssertionError)) return new Error(message, { cause: error })
  const { actual, expected, operator } = error
  return new AssertionError({ message, actual, expected, operator, stackStartFn: told })
}

/** Runs a case with ports that hold both sides to plain data; its failure says what the store was asked last. */
const toldCase = <A, E>(program: Effect.Effect<A, E, StoragePorts | Scope.Scope>) =>
  Effect.suspend(() => {
    const calls: Array<PortCall> = []
    const note = (call: PortCall): void => {
      calls.push(call)
      if (calls.length > TOLD_CALLS) calls.shift()
    }
    return Effect.updateContext(program, (ports: Context.Context<StoragePorts | Scope.Scope>) =>
      plainPorts<Scope.Scope>(ports, note)
    ).pipe(
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.failCause(cause)
          : Effect.die(told(Cause.squash(cause), calls))
      )
    )
  })

/**
 * The whole contract, in the order in which it runs; with a live clock, without what needs exact instants. Whatever rule is
 * tried, what the store is asked and what it answers is plain data. `another` makes the store once more, for the rule that needs
 * two; without it, that one is left out.
 */
export const contractCases = (clock: StoreClock, another?: AnotherStore): ReadonlyArray<ContractCase> => {
  const cases: Array<ContractCase> = []
  for (const [port, contract] of CONTRACTS) {
    let group = ""
    const it: StoreIt = {
      describe: (name, define) => {
        group = name
        define()
      },
      effect: (title, program) => {
        cases.push({ port, group, title, run: toldCase(program()) })
      }
    }
    contract(it, clock, another)
  }
  return cases
}
