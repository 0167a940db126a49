import type { Organization } from "@svc/domain/organization/Organization"
import type { Device } from "../server/CheapCrypto.ts"

/** An authorization as its caller knows it. */
export interface KnownAuthorization {
  readonly id: string
  readonly mandate: string
  readonly opening: string
  readonly amount: number
  /** The commitment that it was proposed with. */
  readonly commitment: string
}

export interface KnownEndpoint {
  readonly id: string
  readonly url: string
}

/** An organization, and what its callers and users know. */
export interface Tenant {
  readonly organization: Organization
  readonly subjects: ReadonlyArray<string>
  readonly mandates: Array<{ readonly id: string; readonly subject: string }>
  readonly authorizations: Array<KnownAuthorization>
  readonly endpoints: Array<KnownEndpoint>
  /** The device of each subject. */
  readonly devices: Map<string, Device>
  /** Mandates that it makes at most. */
  readonly mostMandates: number
  /** The idempotency key of the last proposal that was answered. */
  lastKey?: string
}

export const newTenant = (id: string, number: number, mostMandates: number): Tenant => ({
  organization: {
    id,
    environment: "test",
    name: `Organization ${number}`,
    returnOrigins: ["https://shop.example"],
    reportGraceSeconds: number % 2 === 0 ? 0 : 60,
    passkeyEnrolment: "FIRST_USE",
    identity: {
      issuer: "https://id.example",
      audience: "svc",
      algorithms: ["ES256"],
      keys: { jwks: { keys: [] } }
    }
  },
  subjects: [`user-${number}-a`, `user-${number}-b`],
  mandates: [],
  authorizations: [],
  endpoints: [],
  devices: new Map(),
  mostMandates
})
