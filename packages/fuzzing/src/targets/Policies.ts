import type { MandateTerms } from "@svc/domain/mandate/JournalFact"
import { proposeTerms } from "@svc/domain/mandate/MandateRequest"
import { CreateAuthorizationBody } from "@svc/protocol/Authorization"
import { policyDigest } from "@svc/protocol/evidence/PolicyDigest"
import type { JsonValue } from "@svc/protocol/json/Json"
import { CreateMandateBody } from "@svc/protocol/Mandate"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { parseRequestBody } from "@svc/protocol/request/RequestBody"
import { formatNanos } from "@svc/protocol/Timestamp"
import { makeAuditor } from "@svc/testkit/Auditor"
import {
  approvalOf,
  CREATED,
  commitmentFor,
  HOUR,
  identifierOf,
  ORGANIZATION,
  recurringBody,
  SECOND,
  singleBody,
  tellJournal,
  termsOf
} from "@svc/testkit/EvidenceMaker"
import { Result } from "effect"
import { demand, type FuzzTarget, partsOf } from "../FuzzTarget.ts"

const decodeMandate = decodeBody(CreateMandateBody)
const decodeProposal = decodeBody(CreateAuthorizationBody)

/** The deciders do not look into an approval, so one serves all. */
const approval = approvalOf(termsOf(singleBody()))

const ZONES = new Set(["UTC", "Europe/Berlin", "America/New_York"])

/** Zones change here once, so that no table has to be looked up. */
const tableOf = (name: string) => ({
  name,
  tzdb_version: "2026a",
  offset_seconds: name === "UTC" ? 0 : 3600,
  transitions: name === "UTC" ? [] : [{ at: "2027-03-28T01:00:00Z", offset_seconds: 7200 }]
})

const jsonOf = (text: string): JsonValue | undefined => {
  const body = parseRequestBody(Uint8Array.from(Buffer.from(text, "latin1")))
  return Result.isSuccess(body) ? body.success.value : undefined
}

const termsFrom = (text: string): MandateTerms | undefined => {
  const json = jsonOf(text)
  const body = json === undefined ? undefined : Result.getOrUndefined(decodeMandate(json))
  if (body === undefined) return undefined
  const proposed = Result.getOrUndefined(proposeTerms(body, CREATED, (name) => ZONES.has(name)))
  if (proposed === undefined) return undefined
  return {
    organization_id: ORGANIZATION,
    environment: "test",
    mandate_id: identifierOf("mnd_", 1),
    ...proposed,
    policy_digest: policyDigest(proposed.policy as unknown as JsonValue),
    time_zones: [...new Set((proposed.policy.periods ?? []).map(({ time_zone }) => time_zone))].map(tableOf)
  }
}

const PROPOSAL = {
  external_reference: "order-1",
  proposed_action: {
    action: "card.create",
    attributes: { merchant: "mrc_42" },
    payment: { amount: 1000, currency: "EUR" }
  },
  execution_window_seconds: 900,
  commitment: "cvQ2P1OuvyGVpcvdHWh2G-djv_bzsPy64Z3JMOLPY3E"
}

const TIMES = [HOUR, 72n * HOUR, 24n * 40n * HOUR, 24n * 130n * HOUR]

const pair = (mandate: object, proposal: object = PROPOSAL): string =>
  `${JSON.stringify(mandate)}\n%%\n${JSON.stringify(proposal)}`

/** A mandate and a proposal as a caller may write them: what is decided is decided again by a recount that shares no code. */
export const policies: FuzzTarget = {
  seeds: [
    pair(singleBody()),
    pair(recurringBody()),
    pair(
      recurringBody({
        min_amount: 10,
        max_total_amount: 6000,
        max_executions: 3,
        attribute_rules: [{ name: "category", in: ["books"] }],
        periods: [
          {
            unit: "DAY",
            interval: 3,
            alignment: "MANDATE",
            time_zone: "Europe/Berlin",
            max_amount: 1500,
            first_period: "PRORATED"
          },
          { unit: "WEEK", max_executions: 2 },
          { unit: "YEAR", time_zone: "America/New_York", max_amount: 9000 }
        ]
      })
    )
  ],
  words: [
    '"kind":"SINGLE"',
    '"kind":"RECURRING"',
    '"unit":"DAY"',
    '"unit":"MONTH"',
    '"unit":"YEAR"',
    '"alignment":"MANDATE"',
    '"first_period":"PRORATED"',
    '"time_zone":"Europe/Berlin"',
    '"max_amount":',
    '"min_amount":',
    '"max_executions":',
    '"interval":366',
    '"starts_at":"2026-11-30T23:59:59.999999999Z"',
    '"ends_at":"2036-11-30T00:00:00Z"',
    "2028-02-29T00:00:00Z",
    "9999-12-31T23:59:59Z",
    '"merchant":"mrc_42"',
    '"category":"books"',
    "EUR",
    "JPY",
    "[",
    "]",
    "{",
    "}",
    ",",
    "1",
    "30",
    "86400",
    "\n%%\n"
  ],
  run: (input) => {
    const [mandate = "", proposal = ""] = partsOf(input)
    const terms = termsFrom(mandate)
    const json = jsonOf(proposal)
    const body = json === undefined ? undefined : Result.getOrUndefined(decodeProposal(json))
    if (terms === undefined) return
    const journal = tellJournal(terms)
    journal.approve(CREATED + HOUR / 2n, approval)
    for (const [index, after] of TIMES.entries()) {
      if (body === undefined) continue
      const number = index + 1
      const now = CREATED + after
      journal.tell(
        {
          _tag: "Propose",
          authorizationId: identifierOf("aut_", number),
          reportGraceSeconds: 0,
          body: { ...body, commitment: commitmentFor(number) as typeof body.commitment }
        },
        now
      )
      journal.commit(number, now + SECOND)
    }
    const last = TIMES.at(-1) ?? 0n
    journal.until(CREATED + last + HOUR)
    const auditor = makeAuditor({ check: (name, holds, about) => demand(holds, `${name}: ${about}`) })
    auditor.journal(terms.mandate_id, journal.texts, formatNanos(CREATED + last + HOUR))
  }
}
