import { assert, describe, it } from "@effect/vitest"
import { APPROVAL_SESSION_SECONDS } from "@svc/domain/approval/SessionLifecycle"
import { EVIDENCE_READ_SECONDS, MAX_EVIDENCE_READS } from "@svc/domain/engine/EvidenceReads"
import * as MandateLimits from "@svc/domain/mandate/MandateLimits"
import { WINDOW_MAX_YEARS, WINDOW_START_PAST_SECONDS } from "@svc/domain/mandate/MandateRequest"
import { DUE_STREAMS_PER_LIST } from "@svc/domain/ports/MandateStore"
import { MAX_ATTEMPTS } from "@svc/domain/webhook/DeliverySchedule"
import { REACTIVATION_SPREAD_SECONDS } from "@svc/domain/webhook/WebhookDelivery"
import * as WebhookEndpoint from "@svc/domain/webhook/WebhookEndpoint"
import { MAX_HEADER_BYTES, REQUEST_TIMEOUT_MS } from "@svc/http-server/http/RawServer"
import {
  IDENTITY_ASSERTION_MAX_CHARACTERS,
  RETURN_STATE_MAX_CODE_POINTS,
  RETURN_STATE_MIN_CODE_POINTS,
  RETURN_URL_MAX_CODE_POINTS
} from "@svc/protocol/ApprovalSession"
import {
  EXECUTION_WINDOW_MAX_SECONDS,
  EXECUTION_WINDOW_MIN_SECONDS,
  MAX_ATTRIBUTES
} from "@svc/protocol/Authorization"
import { OPENING_BYTES } from "@svc/protocol/evidence/Commitment"
import { MAX_EVIDENCE_PAYLOAD_BYTES } from "@svc/protocol/evidence/ReadEnvelope"
import { MAX_JSON_DEPTH } from "@svc/protocol/json/StrictJson"
import * as Mandate from "@svc/protocol/Mandate"
import { MAX_PROBLEM_ERRORS } from "@svc/protocol/Problem"
import { LIST_LIMIT_MAX } from "@svc/protocol/request/ListPage"
import { MAX_BODY_BYTES } from "@svc/protocol/request/MaxBodyBytes"
import { TEXT_MAX_CODE_POINTS } from "@svc/protocol/Text"
import { WEBHOOK_URL_MAX_CODE_POINTS } from "@svc/protocol/webhook/WebhookEndpoint"
import { WEBHOOK_SECRET_BYTES, WEBHOOK_TOLERANCE_SECONDS } from "@svc/protocol/webhook/WebhookSignature"
import { documentedLimits } from "./Documents.ts"

const LIMITS: Readonly<Record<string, number>> = {
  "request body, in bytes": MAX_BODY_BYTES,
  "header section of a request, in bytes": MAX_HEADER_BYTES,
  "time for a request to arrive, in seconds": REQUEST_TIMEOUT_MS / 1000,
  "nesting of a request body, in levels": MAX_JSON_DEPTH,
  "text, in characters, unless stated": TEXT_MAX_CODE_POINTS,
  "amount and count": Mandate.MAX_SAFE_INTEGER,
  "entries of a page": LIST_LIMIT_MAX,
  "entries of `errors`": MAX_PROBLEM_ERRORS,
  "allowed actions": Mandate.MAX_ALLOWED_ACTIONS,
  "allowed merchants": Mandate.MAX_ALLOWED_MERCHANTS,
  "attribute rules": Mandate.MAX_ATTRIBUTE_RULES,
  "values of an attribute rule": Mandate.MAX_ATTRIBUTE_RULE_VALUES,
  "name of an attribute, in characters": Mandate.ATTRIBUTE_NAME_MAX_CODE_POINTS,
  "periods of a policy": Mandate.MAX_PERIODS,
  "interval of a period, in units": Mandate.MAX_PERIOD_INTERVAL,
  "reason of a revocation, in characters": Mandate.REVOCATION_REASON_MAX_CODE_POINTS,
  "attributes of an action": MAX_ATTRIBUTES,
  "shortest execution window, in seconds": EXECUTION_WINDOW_MIN_SECONDS,
  "longest execution window, in seconds": EXECUTION_WINDOW_MAX_SECONDS,
  "commitment opening, in bytes": OPENING_BYTES,
  "`return_url`, in characters": RETURN_URL_MAX_CODE_POINTS,
  "shortest `return_state`, in characters": RETURN_STATE_MIN_CODE_POINTS,
  "longest `return_state`, in characters": RETURN_STATE_MAX_CODE_POINTS,
  "identity assertion, in characters": IDENTITY_ASSERTION_MAX_CHARACTERS,
  "reads of evidence of an organization at once, in each process": MAX_EVIDENCE_READS,
  "time that a read of evidence may take, in seconds": EVIDENCE_READ_SECONDS,
  "evidence payload that a verifier decodes, in bytes": MAX_EVIDENCE_PAYLOAD_BYTES,
  "`url` of an endpoint, in characters": WEBHOOK_URL_MAX_CODE_POINTS,
  "webhook secret, in bytes": WEBHOOK_SECRET_BYTES,
  "age of a webhook signature, in seconds": WEBHOOK_TOLERANCE_SECONDS,
  "length of a window, and start of a window ahead, in years": WINDOW_MAX_YEARS,
  "start of a window in the past, in seconds": WINDOW_START_PAST_SECONDS,
  "mandates that one list brings up to date": DUE_STREAMS_PER_LIST,
  "open reservations of a mandate": MandateLimits.MAX_OPEN_RESERVATIONS,
  "authorizations of a mandate": MandateLimits.MAX_AUTHORIZATIONS,
  "refund reports of an authorization": MandateLimits.MAX_REFUND_REPORTS,
  "conflicting reports recorded of an authorization": MandateLimits.MAX_OUTCOME_CONFLICTS,
  "journal of a mandate, in bytes": MandateLimits.MAX_JOURNAL_BYTES,
  "a report dated in the future, in seconds": MandateLimits.REPORT_LEAD_SECONDS,
  "life of an approval session, in seconds": Number(APPROVAL_SESSION_SECONDS),
  "webhook endpoints of an organization": WebhookEndpoint.MAX_WEBHOOK_ENDPOINTS,
  "attempts of a delivery": MAX_ATTEMPTS,
  "failed attempts in a row that disable an endpoint": WebhookEndpoint.MAX_FAILED_ATTEMPTS,
  "exhausted deliveries in a row that disable an endpoint": WebhookEndpoint.MAX_EXHAUSTED_DELIVERIES,
  "deliveries kept for a disabled endpoint": WebhookEndpoint.KEPT_DELIVERIES,
  "time that they are kept, in seconds": Number(WebhookEndpoint.KEPT_SECONDS),
  "spread after a reactivation, in seconds": Number(REACTIVATION_SPREAD_SECONDS)
}

/** Decided elsewhere than by a constant that can be read from here. */
const OTHERS = ["idempotency key, in characters", "report grace of an organization, in seconds"]

describe("the limits that docs/interface lists", () => {
  const documented = documentedLimits()

  it("are all held against the code", () => {
    assert.sameMembers([...documented.keys()], [...Object.keys(LIMITS), ...OTHERS])
  })

  for (const [limit, value] of Object.entries(LIMITS)) {
    it(`are those of the code: ${limit}`, () => assert.strictEqual(documented.get(limit), value))
  }
})
