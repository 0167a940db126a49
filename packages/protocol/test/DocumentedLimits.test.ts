import { assert, describe, it } from "@effect/vitest"
import {
  IDENTITY_ASSERTION_MAX_CHARACTERS,
  RETURN_STATE_MAX_CODE_POINTS,
  RETURN_STATE_MIN_CODE_POINTS,
  RETURN_URL_MAX_CODE_POINTS
} from "../src/ApprovalSession.ts"
import {
  EXECUTION_WINDOW_MAX_SECONDS,
  EXECUTION_WINDOW_MIN_SECONDS,
  MAX_ATTRIBUTES
} from "../src/Authorization.ts"
import { OPENING_BYTES } from "../src/Commitment.ts"
import { MAX_EVIDENCE_PAYLOAD_BYTES } from "../src/EvidenceEnvelope.ts"
import { LIST_LIMIT_MAX } from "../src/ListPage.ts"
import * as Mandate from "../src/Mandate.ts"
import { MAX_PROBLEM_ERRORS } from "../src/Problem.ts"
import { MAX_JSON_DEPTH } from "../src/StrictJson.ts"
import { TEXT_MAX_CODE_POINTS } from "../src/Text.ts"
import { WEBHOOK_URL_MAX_CODE_POINTS } from "../src/WebhookEndpoint.ts"
import { WEBHOOK_SECRET_BYTES, WEBHOOK_TOLERANCE_SECONDS } from "../src/WebhookSignature.ts"
import { documentedLimits } from "./DocumentedLimits.ts"

const LIMITS: Readonly<Record<string, number>> = {
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
  "evidence payload that a verifier decodes, in bytes": MAX_EVIDENCE_PAYLOAD_BYTES,
  "`url` of an endpoint, in characters": WEBHOOK_URL_MAX_CODE_POINTS,
  "webhook secret, in bytes": WEBHOOK_SECRET_BYTES,
  "age of a webhook signature, in seconds": WEBHOOK_TOLERANCE_SECONDS
}

describe("the limits that docs/interface lists", () => {
  const documented = documentedLimits()

  for (const [limit, value] of Object.entries(LIMITS)) {
    it(`are those of the wire: ${limit}`, () => assert.strictEqual(documented.get(limit), value))
  }
})
