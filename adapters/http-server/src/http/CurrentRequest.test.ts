import { assert, describe, it } from "@effect/vitest"
import { annotationsOf, type RequestFacts } from "./CurrentRequest.ts"

const EVERYTHING: RequestFacts = {
  approvalSessionId: "aps_1",
  authorizationId: "aut_1",
  mandateId: "mnd_1",
  apiKeyId: "key_1",
  organizationId: "org_1",
  problem: "not_found",
  route: "/v1/mandates/{mandate_id}",
  trace: { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", sampled: true },
  clientRequestId: "mine-1",
  requestId: "r-1",
  baseUrl: "https://api.example",
  clientAddress: "203.0.113.7"
}

describe("annotationsOf", () => {
  it("names what is known, always in the same order", () => {
    assert.deepStrictEqual(Object.entries(annotationsOf(EVERYTHING)), [
      ["request_id", "r-1"],
      ["client_request_id", "mine-1"],
      ["trace_id", "0af7651916cd43dd8448eb211c80319c"],
      ["span_id", "b7ad6b7169203331"],
      ["route", "/v1/mandates/{mandate_id}"],
      ["problem", "not_found"],
      ["organization_id", "org_1"],
      ["api_key_id", "key_1"],
      ["mandate_id", "mnd_1"],
      ["authorization_id", "aut_1"],
      ["approval_session_id", "aps_1"]
    ])
  })

  it("leaves out what is not known", () => {
    const known: RequestFacts = { requestId: "r-1", baseUrl: "", route: undefined, clientAddress: "" }
    assert.deepStrictEqual(annotationsOf(known), { request_id: "r-1" })
  })
})
