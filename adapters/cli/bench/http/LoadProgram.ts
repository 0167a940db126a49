/** Clients in a process of their own: each does pair after pair on a connection that it keeps, and checks every answer. */
import { createHash, randomBytes, randomUUID } from "node:crypto"
import { AMOUNT, type Load, type LoadResult } from "./Load.ts"
import { runPairs, WrongAnswer } from "./PairLoop.ts"
import { jsonRequest, openConnection, type RawAnswer, type RawConnection } from "./RawConnection.ts"

const EXECUTION_WINDOW_SECONDS = 900

interface ShownAuthorization {
  readonly id: string
  readonly state: string
  readonly decision: string
  readonly can_execute: boolean
  readonly mandate_id: string
  readonly created_at: string
  readonly commitment: string
}

/** The authorization that an answer shows, which must have that status and these members. */
const shown = (
  { body, status }: RawAnswer,
  expectedStatus: number,
  members: Partial<ShownAuthorization>
): ShownAuthorization => {
  if (status !== expectedStatus) throw new WrongAnswer(`${status} ${body.slice(0, 300)}`)
  const resource = JSON.parse(body) as ShownAuthorization
  for (const [name, value] of Object.entries(members)) {
    const found = resource[name as keyof ShownAuthorization]
    if (found !== value) throw new WrongAnswer(`${name} is ${found}, not ${value}`)
  }
  return resource
}

const pair = async (connection: RawConnection, { apiKey, port }: Load, mandate: string): Promise<void> => {
  const write = (line: string, body: object) =>
    connection.send(
      jsonRequest(
        line,
        {
          host: `localhost:${port}`,
          authorization: `Bearer ${apiKey}`,
          "idempotency-key": randomUUID()
        },
        JSON.stringify(body)
      )
    )
  const opening = randomBytes(32)
  const commitment = createHash("sha256")
    .update("svc:authorization:commitment:v1\n")
    .update(opening)
    .digest("base64url")
  const proposed = await write(`POST /v1/mandates/${mandate}/authorizations`, {
    external_reference: "order-1",
    proposed_action: { action: "card.create", payment: { amount: AMOUNT, currency: "EUR" } },
    execution_window_seconds: EXECUTION_WINDOW_SECONDS,
    commitment
  })
  const { created_at, id } = shown(proposed, 201, {
    decision: "ALLOW",
    state: "RESERVED",
    can_execute: true,
    mandate_id: mandate,
    commitment
  })
  const committed = await write(`PUT /v1/authorizations/${id}/commit`, {
    external_action_reference: "act_1",
    provider_transaction_reference: "txn_1",
    reported_accepted_at: created_at,
    commitment_opening: opening.toString("base64url")
  })
  shown(committed, 200, { id, state: "COMMITTED", mandate_id: mandate, can_execute: false })
}

const run = async (load: Load): Promise<LoadResult> => {
  const connections = await Promise.all(
    Array.from({ length: load.connections }, () => openConnection(load.port))
  )
  const clients = connections.map((connection) => (mandate: string) => pair(connection, load, mandate))
  const result = await runPairs(load, clients)
  for (const connection of connections) connection.close()
  return result
}

process.once("disconnect", () => process.exit())
process.on("message", async (load: Load) => process.send?.(await run(load)))
