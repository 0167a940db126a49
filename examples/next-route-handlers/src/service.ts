import { randomUUID } from "node:crypto"
import { createService, type Service } from "svc"
import { memory } from "svc/memory"

/** Identifies the shop in everything that it does. Made once with `newOrganizationId()`. */
export const SHOP = "org_01k8x3v5e7qfwb2m4n6p8r9std"

export const ORIGIN = `http://localhost:${process.env.PORT ?? 3000}`

interface Shared {
  /** Who is logged in, by the token of the session. A real shop keeps it elsewhere. */
  readonly sessions: Map<string, string>
  readonly service: Service
}

const make = (): Shared => {
  const sessions = new Map<string, string>()
  const service = createService({
    environment: "test",
    baseUrl: `${ORIGIN}/api`,
    approvalUrl: `${ORIGIN}/approvals`,
    store: memory(),
    organizations: [{ id: SHOP, name: "Shop", returnOrigins: [ORIGIN] }],
    identify: async (session) => {
      const subject = sessions.get(session)
      // A session may open several approvals, so each has a `jti` of its own.
      return subject === undefined ? undefined : { subject, jti: randomUUID() }
    }
  })
  return { sessions, service }
}

// Next may load this module once for each route: what they share is kept beside the modules.
const kept = globalThis as { shop?: Shared }
kept.shop ??= make()
export const { service, sessions } = kept.shop
export const shop = service.forOrganization(SHOP)
