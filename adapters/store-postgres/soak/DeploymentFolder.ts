import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { formatApiKey } from "@svc/domain/organization/ApiKey"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import { makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
import { Redacted } from "effect"

const SECRET_BYTES = 32
const FILE_MODE = 0o600

const newTenant = () => ({
  organization_id: formatIdentifier("org_", Date.now(), randomBytes(IDENTIFIER_RANDOM_BYTES)),
  api_key: Redacted.value(formatApiKey("test", randomBytes(SECRET_BYTES)))
})

/** An organization as the development server's file describes it (part 9): with its API key and its identity key. */
const newTenants = () => {
  const { audience, issuer, privateJwk } = makeIdentityIssuer({
    issuer: "https://identity.shop.example",
    audience: "svc-soak"
  })
  const { use: _, ...jwk } = privateJwk
  return {
    ...newTenant(),
    identity: { issuer, audience, private_jwk: jwk },
    // Only development servers let a browser return to localhost.
    return_origin: "https://shop.example",
    second_organization: newTenant()
  }
}

/** One organization of a deployment, with everything that its callers need. */
export type Tenant = Omit<ReturnType<typeof newTenants>, "second_organization">

/** What the processes of one deployment share beside the store. */
export interface DeploymentFolder {
  readonly path: string
  readonly tenant: Tenant
  /** As `SVC_MASTER_KEY` takes it. */
  readonly masterKey: string
  readonly remove: () => void
}

/**
 * A new folder with the files that the development server would make on its first start, so that production servers know
 * the same master key, and allow an `https` return origin.
 */
export const makeDeploymentFolder = (): DeploymentFolder => {
  const path = mkdtempSync(join(tmpdir(), "svc-soak-"))
  const masterKey = randomBytes(SECRET_BYTES).toString("base64url")
  const tenants = newTenants()
  const addresses = { base_url: "http://localhost:8080", approval_base_url: "http://localhost:8081" }
  writeFileSync(join(path, "master.key"), `${masterKey}\n`, { mode: FILE_MODE })
  writeFileSync(join(path, "dev.json"), JSON.stringify({ ...addresses, ...tenants }), { mode: FILE_MODE })
  return {
    path,
    masterKey,
    tenant: tenants,
    remove: () => rmSync(path, { recursive: true, force: true })
  }
}
