import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { type Client, createClient } from "@svc/client"
import { approveOnPage } from "@svc/testkit/ApproveOnPage"
import { createService, newOrganizationId } from "svc"
import { memory } from "svc/memory"
import { toNodeHandler } from "svc/node"
import { listening, type Running } from "./Running.ts"

export interface LocalService extends Running {
  readonly apiKey: string
  readonly svc: Client
  /** An approved mandate for orders of up to EUR 500. */
  readonly mandate: string
}

const YEAR_MS = 31_536_000_000

/** A service in memory, with a mandate that a software passkey has approved in the place of its end user. */
export const startService = async (): Promise<LocalService> => {
  const server = createServer()
  const running = await listening(server)
  const organization = newOrganizationId()
  const service = createService({
    environment: "test",
    baseUrl: running.url,
    approvalUrl: `${running.url}/approvals`,
    store: memory(),
    organizations: [{ id: organization, name: "Shop", returnOrigins: [running.url] }],
    identify: async (subject) => ({ subject, jti: randomUUID() })
  })
  server.on("request", toNodeHandler(service))

  const { key: apiKey } = await service.createApiKey(organization)
  const svc = createClient({ baseUrl: running.url, apiKey })
  const mandate = await svc.mandates.create({
    kind: "RECURRING",
    subject_reference: "alice",
    policy: {
      currency: "EUR",
      max_amount: 50_000,
      allowed_actions: ["order.pay"],
      periods: [{ unit: "MONTH", time_zone: "Europe/Berlin", max_amount: 1_000_000 }]
    },
    window: { ends_at: new Date(Date.now() + YEAR_MS).toISOString() }
  })
  const session = await svc.mandates.openApproval(mandate.id, {
    identity_assertion: "alice",
    return_url: `${running.url}/`,
    return_state: randomUUID()
  })
  await approveOnPage(session.approval_url ?? "", fetch)
  return {
    url: running.url,
    apiKey,
    svc,
    mandate: mandate.id,
    stop: async () => {
      await running.stop()
      await service.close()
    }
  }
}
