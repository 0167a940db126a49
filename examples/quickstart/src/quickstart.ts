/**
 * Walks the whole lifecycle against the development server: a mandate, its approval with a passkey, authorizations with
 * each decision, their outcomes, and the signed evidence, verified here. Start the server with `npm start` first.
 */

import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { commitmentOf } from "@svc/protocol/evidence/Commitment"
import { type Answer, type Caller, expect, isHelpPrinted, type Json, say, withCaller } from "./Caller.ts"
import { approve, decline } from "./EndUser.ts"
import { checkEvidence } from "./EvidenceCheck.ts"

const step = (title: string) => say(`\n== ${title}`)

const inOneYear = (): string => new Date(Date.now() + 365 * 86_400_000).toISOString()

const mandateFor = (subject: string): Json => ({
  kind: "RECURRING",
  subject_reference: subject,
  description: "Monthly books",
  policy: {
    currency: "EUR",
    max_amount: 5000,
    allowed_actions: ["card.create"],
    allowed_merchants: ["mrc_42"],
    periods: [{ unit: "MONTH", time_zone: "Europe/Berlin", max_amount: 20_000, max_executions: 5 }]
  },
  window: { ends_at: inOneYear() }
})

const createMandate = async (caller: Caller, subject: string): Promise<string> => {
  const { body } = expect(await caller.write("POST", "/v1/mandates", mandateFor(subject)), 201)
  say(`mandate ${body.id} is ${body.state}`)
  return body.id
}

const openSession = async (caller: Caller, mandate: string, subject: string): Promise<string> => {
  const session = await caller.write("POST", `/v1/mandates/${mandate}/approval-sessions`, {
    identity_assertion: await caller.issuer.assertion({ subject }),
    return_url: `${caller.settings.return_origin}/approved`,
    return_state: crypto.randomUUID()
  })
  const { body } = expect(session, 201)
  say(`approval session ${body.id} is ${body.state} until ${body.expires_at}`)
  return body.approval_url
}

interface Proposal {
  readonly authorization: Answer["body"]
  readonly opening: string
}

const propose = async (caller: Caller, mandate: string, amount: number): Promise<Proposal> => {
  const opening = crypto.getRandomValues(new Uint8Array(32))
  const answer = await caller.write("POST", `/v1/mandates/${mandate}/authorizations`, {
    external_reference: `order-${crypto.randomUUID()}`,
    proposed_action: {
      action: "card.create",
      attributes: { merchant: "mrc_42" },
      payment: { amount, currency: "EUR" }
    },
    execution_window_seconds: 900,
    commitment: commitmentOf(opening)
  })
  const authorization = expect(answer, 201).body
  const { id, decision, can_execute, reasons } = authorization
  say(`authorization ${id}: ${decision}, can_execute ${can_execute}`)
  for (const reason of reasons) say(`   ${reason.code} at ${reason.pointer}: ${reason.detail}`)
  return { authorization, opening: encodeBase64Url(opening) }
}

const commit = async (caller: Caller, { authorization, opening }: Proposal): Promise<void> => {
  const answer = await caller.write("PUT", `/v1/authorizations/${authorization.id}/commit`, {
    external_action_reference: authorization.external_reference,
    provider_transaction_reference: "txn_7001",
    reported_accepted_at: new Date().toISOString(),
    commitment_opening: opening
  })
  say(`authorization ${authorization.id} is ${expect(answer, 200).body.state}`)
}

const cancel = async (caller: Caller, { authorization }: Proposal): Promise<void> => {
  const answer = await caller.write("PUT", `/v1/authorizations/${authorization.id}/cancellation`, {
    reason: "EXECUTOR_REJECTED",
    execution_disposition: "NEVER_BECAME_POSSIBLE"
  })
  say(`authorization ${authorization.id} is ${expect(answer, 200).body.state}`)
}

const walk = async (caller: Caller): Promise<void> => {
  const subject = `user_${crypto.randomUUID()}`
  step("A mandate is created")
  const mandate = await createMandate(caller, subject)
  step("The end user approves it with a passkey")
  await approve(await openSession(caller, mandate, subject))
  const { state, version } = expect(await caller.get(`/v1/mandates/${mandate}`), 200).body
  say(`the mandate is ${state}, version ${version}`)
  step("An action within the mandate is proposed, executed by the caller, and committed")
  await commit(caller, await propose(caller, mandate, 4200))
  step("An action beyond the mandate is refused")
  await propose(caller, mandate, 990_000)
  step("An action that the provider refuses is cancelled")
  await cancel(caller, await propose(caller, mandate, 1500))
  step("Another mandate is declined by its user")
  const other = await createMandate(caller, `${subject}_2`)
  await decline(await openSession(caller, other, `${subject}_2`))
  say(`the mandate is ${expect(await caller.get(`/v1/mandates/${other}`), 200).body.state}`)
  step("The evidence of the first mandate is fetched and verified")
  await checkEvidence(
    expect(await caller.get(`/v1/mandates/${mandate}/evidence`), 200).body,
    expect(await caller.get("/.well-known/jwks.json"), 200).body
  )
  say("\nevidence verified")
}

const HELP = `npm run quickstart: walks the whole lifecycle against the development server, ending in "evidence verified". Start the server
with "npm start" first.`

if (!isHelpPrinted(HELP)) await withCaller(walk)
