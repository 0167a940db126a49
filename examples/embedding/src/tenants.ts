import type { AuthenticatedCaller, HostIdentity, ServiceOptions } from "svc"

/** What the host keeps of a signed-in user. */
export interface Session {
  readonly user: string
  /** The organization of the user's tenant. */
  readonly organization: string
  readonly isAdmin: boolean
}

export interface Sessions {
  readonly find: (token: string) => Promise<Session | undefined>
}

/** Callers and end users of a host with tenants, by its own sessions. */
export const bySessions = (sessions: Sessions): Pick<ServiceOptions, "authenticate" | "identify"> => ({
  authenticate: async (request): Promise<AuthenticatedCaller | undefined> => {
    const [, token] = /^Bearer (\S+)$/u.exec(request.headers.get("authorization") ?? "") ?? []
    const session = token === undefined ? undefined : await sessions.find(token)
    if (session === undefined) return undefined
    return { organization: session.organization, scopes: session.isAdmin ? ["read", "write"] : ["read"] }
  },
  identify: async (assertion, organization): Promise<HostIdentity | undefined> => {
    const session = await sessions.find(assertion)
    if (session?.organization !== organization) return undefined
    return { subject: session.user, jti: crypto.randomUUID() }
  }
})
