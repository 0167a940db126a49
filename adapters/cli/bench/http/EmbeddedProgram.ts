/** A service within the process of its host, which makes the pairs by calls without HTTP. */
import { createCommitment, createService } from "svc"
import { postgres } from "svc/postgres"
import { AMOUNT, type Load } from "./Load.ts"
import { runPairs, WrongAnswer } from "./PairLoop.ts"

/** What the program is started with. */
export interface EmbeddedOptions {
  readonly databaseUrl: string
  readonly baseUrl: string
  readonly approvalUrl: string
  readonly masterKey: string
  readonly organization: string
}

/** What it is asked for: pairs, or the usage of mandates as the service shows it. */
export type EmbeddedAsked = Pick<Load, "mandates" | "connections" | "seconds"> | { readonly usageOf: string }

const EXECUTION_WINDOW_SECONDS = 900

const [text = "{}"] = process.argv.slice(2)
const { organization, databaseUrl, ...given }: EmbeddedOptions = JSON.parse(text)
const service = createService({
  environment: "test",
  ...given,
  store: postgres({ url: databaseUrl, migrations: "require" }),
  logger: ({ level, message }) => {
    if (level === "warn" || level === "error") process.stderr.write(`${message}\n`)
  }
})
const { authorizations, mandates } = service.forOrganization(organization)

const pair = async (mandate: string): Promise<void> => {
  const { commitment, opening } = await createCommitment()
  const { can_execute, created_at, decision, id, state } = await authorizations.propose(
    mandate,
    {
      external_reference: "order-1",
      proposed_action: { action: "card.create", payment: { amount: AMOUNT, currency: "EUR" } },
      execution_window_seconds: EXECUTION_WINDOW_SECONDS,
      commitment
    },
    { idempotencyKey: crypto.randomUUID() }
  )
  if (!can_execute || decision !== "ALLOW") throw new WrongAnswer(`proposed ${state} ${decision}`)
  const committed = await authorizations.commit(
    id,
    {
      external_action_reference: "act_1",
      provider_transaction_reference: "txn_1",
      reported_accepted_at: created_at,
      commitment_opening: opening
    },
    { idempotencyKey: crypto.randomUUID() }
  )
  if (committed.state !== "COMMITTED") throw new WrongAnswer(`committed ${committed.state}`)
}

await service.ready()
process.once("disconnect", () => process.exit())
process.on("message", async (asked: EmbeddedAsked) => {
  if ("usageOf" in asked) return process.send?.((await mandates.get(asked.usageOf)).usage)
  const clients = Array.from({ length: asked.connections }, () => pair)
  return process.send?.(await runPairs(asked, clients))
})
process.send?.("ready")
