import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { CALLER_DUTIES } from "@svc/protocol/CallerDuties"
import type { JsonObject } from "@svc/protocol/json/Json"
import { objectAt } from "../../test/JsonNode.ts"
import { openApiText } from "./DocumentRoutes.ts"

const document = JSON.parse(openApiText("https://api.example")) as JsonObject
const page = readFileSync(new URL("../../../../docs/caller-duties.md", import.meta.url), "utf8")

const member = (schema: string, name: string) => ["components", "schemas", schema, "properties", name]

/** What each duty is about. */
const PLACES: Readonly<Record<keyof typeof CALLER_DUTIES, ReadonlyArray<string>>> = {
  opaqueSubject: member("CreateMandate", "subject_reference"),
  unpredictableState: member("CreateApprovalSession", "return_state"),
  keysOnServers: ["components", "securitySchemes", "api_key"],
  secretApprovalUrl: member("ApprovalSession", "approval_url"),
  executionGate: member("Authorization", "can_execute"),
  executionDeadline: member("Authorization", "execute_before"),
  conflictIsIncident: ["paths", "/v1/authorizations/{authorization_id}/commit", "put"],
  evidenceIsIncident: ["paths", "/v1/mandates/{mandate_id}/evidence", "get"],
  deduplicateById: member("WebhookEvent", "id"),
  triggerNotProof: ["webhooks", "mandate.approved", "post"]
}

describe("docs/caller-duties.md", () => {
  for (const [name, duty] of Object.entries(CALLER_DUTIES)) {
    it(`states ${name}, as do the introduction and the member of the OpenAPI document`, () => {
      assert.include(String(objectAt(document, "info").description), duty)
      assert.include(page.replaceAll(/\s+/gu, " "), duty)
      const place = PLACES[name as keyof typeof CALLER_DUTIES]
      assert.include(String(objectAt(document, ...place).description), duty)
    })
  }
})
