import { randomUUID } from "node:crypto"
import { createService } from "svc"
import { memory } from "svc/memory"

/** Identifies the shop in everything that it does. Made once with `newOrganizationId()`. */
export const SHOP = "org_01k8x3v5e7qfwb2m4n6p8r9stb"

/** Who is logged in, by the token of the session. The shop's own; a real one keeps it elsewhere. */
export const sessions = new Map<string, string>()

/** The service, with everything in memory: give it `postgres()` to keep it. */
export const makeService = (origin: string) =>
  createService({
    environment: "test",
    baseUrl: `${origin}/mandates`,
    approvalUrl: `${origin}/approvals`,
    store: memory(),
    organizations: [{ id: SHOP, name: "Shop", returnOrigins: [origin] }],
    identify: async (session) => {
      const subject = sessions.get(session)
      // A session may open several approvals, so each has a `jti` of its own.
      return subject === undefined ? undefined : { subject, jti: randomUUID() }
    }
  })
