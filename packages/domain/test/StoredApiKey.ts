import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { harnessDeployment, harnessOrganization } from "@svc/testkit/ProgramHarness"
import { Effect, Layer } from "effect"
import { apiKeyRecord, formatApiKey } from "../src/organization/ApiKey.ts"
import type { Organization } from "../src/organization/Organization.ts"
import { Deployment } from "../src/ports/Deployment.ts"
import { Organizations } from "../src/ports/Organizations.ts"
import { fromTheStart } from "./MemoryPrograms.ts"

/** What authentication needs: a store of its own for each use, in a deployment of the environment. */
export const keyPorts = (environment: "test" | "live" = "test") =>
  Layer.fresh(
    Layer.merge(
      MemoryStore.layer,
      Layer.effect(
        Deployment,
        Effect.map(Deployment, (deployment) => Deployment.of({ ...deployment, environment }))
      ).pipe(Layer.provide(harnessDeployment))
    )
  )

/** An organization and a key of it in the store, at the start of the harness. */
export const storedKey = Effect.fnUntraced(function* (
  parts: Partial<Organization> = {},
  key: { readonly expiresAt?: string } = {}
) {
  yield* fromTheStart
  const organizations = yield* Organizations
  const organization = harnessOrganization(parts)
  const text = formatApiKey(organization.environment, new Uint8Array(32).fill(7))
  const record = apiKeyRecord({
    id: "key_01jdxxxxxxxxxxxxxxxxxxxxxx",
    organizationId: organization.id,
    key: text,
    createdAt: "2026-12-01T00:00:00Z",
    ...key
  })
  yield* organizations.put(organization)
  yield* organizations.putApiKey(record)
  return { organization, record, text }
})
