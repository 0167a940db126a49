import { randomUUID } from "node:crypto"
import { createService } from "svc"
import { memory } from "svc/memory"

/** Identifies the shop in everything that it does. Made once with `newOrganizationId()`. */
export const SHOP = "org_01k8x3v5e7qfwb2m4n6p8r9stc"

/** Who is logged in, by the token of the session. A real shop keeps it elsewhere. */
export const sessions = new Map<string, string>()

export const PORT = Number(process.env.PORT ?? 3000)
export const ORIGIN = `http://localhost:${PORT}`

/** The service, with everything in memory: give it `postgres()` to keep it. */
export const makeService = () =>
  createService({
    environment: "test",
    baseUrl: `${ORIGIN}/mandates`,
    approvalUrl: `${ORIGIN}/approvals`,
    store: memory(),
    organizations: [{ id: SHOP, name: "Shop", returnOrigins: [ORIGIN] }],
    identify: async (session) => {
      const subject = sessions.get(session)
      // A session may open several approvals, so each has a `jti` of its own.
      return subject === undefined ? undefined : { subject, jti: randomUUID() }
    }
  })
