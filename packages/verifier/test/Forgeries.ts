import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import { collectChecks } from "@svc/testkit/AuditLog"
import {
  device,
  keySet,
  NOW,
  ORGANIZATION,
  ORIGIN,
  RP_ID,
  SUBJECT,
  signPayload
} from "@svc/testkit/EvidenceMaker"
import { recountJournals } from "@svc/testkit/JournalRecount"
import { type EvidenceReport, type Expectations, verifyEvidence } from "@svc/verifier"
import { forge } from "./Forger.ts"
import { unprovableOf } from "./Unprovable.ts"

/** What the titles of the document are pinned by. */
export const PINS = {
  "Whether events are missing": "head",
  "When things happened": "head",
  "What callers proposed and reported": "head",
  "The words of a reason": "head",
  "Who declined": "head",
  "Circumstances of the approval": "head",
  "Who the approver is": "passkeys",
  "Terms that nobody approved": "head",
  "Time zone tables of another version": "timeZones",
  "When it was generated": "nothing"
} as const

export interface Trial {
  /** How many forgeries were made, and how many were accepted, by what they changed. */
  readonly made: number
  readonly accepted: ReadonlyMap<string, number>
  /** Accepted forgeries that the document does not list, or that their pin does not reveal. */
  readonly escaped: ReadonlyArray<string>
}

const everything = (genuine: {
  mandate: { id: string }
  head: { seq: number; hash: string }
}): Expectations => ({
  organization: ORGANIZATION,
  environment: "test",
  subject: SUBJECT,
  rpIds: [RP_ID],
  origins: [ORIGIN],
  mandate: genuine.mandate.id,
  passkeys: [device],
  head: genuine.head,
  now: NOW
})

const failed = (report: EvidenceReport): string =>
  report.checks
    .filter(({ status }) => status === "fail")
    .map(({ name }) => name)
    .join()

/** What the independent recount has against a journal. */
export const recountFaults = (payload: { mandate: { id: string }; events: ReadonlyArray<never> }) => {
  const log = collectChecks()
  const { append } = recountJournals(log)
  for (const event of payload.events) append(payload.mandate.id, canonicalJson(event))
  return log.faults
}

/** Makes forgeries `first` to before `end`, and verifies each with nothing known from elsewhere, and with everything. */
export const tryForgeries = async (first: number, end: number): Promise<Trial> => {
  const accepted = new Map<string, number>()
  const escaped: Array<string> = []
  let made = 0
  for (let number = first; number < end; number++) {
    const forged = forge(number)
    if (forged === undefined) continue
    made += 1
    const envelope = signPayload(JSON.stringify(forged.payload))
    const report = await verifyEvidence(envelope, keySet, { now: NOW })
    if (report.verdict !== "valid") continue
    const titles = [...unprovableOf(forged.genuine, forged.payload)]
    for (const title of titles) accepted.set(title, (accepted.get(title) ?? 0) + 1)
    const about = `${number}, ${forged.kind}, ${forged.mended} mended: ${titles.join("; ")}`
    if (titles.length === 0 || titles.some((title) => !(title in PINS))) escaped.push(about)
    for (const fault of recountFaults(forged.payload)) escaped.push(`${about}: the recount has ${fault}`)
    const pinned = await verifyEvidence(envelope, keySet, everything(forged.genuine))
    const isOnlyLater = titles.every((title) => title === "When it was generated")
    if (pinned.verdict === "valid" && !isOnlyLater) escaped.push(`${about}, with everything pinned`)
    if (titles.includes("Who the approver is") && !failed(pinned).includes("passkey")) {
      escaped.push(`${about}: the passkey`)
    }
  }
  return { made, accepted, escaped }
}
