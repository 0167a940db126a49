import { CALLER_DUTIES } from "../CallerDuties.ts"
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX } from "../request/ListPage.ts"
import { WEBHOOK_TOLERANCE_SECONDS } from "../webhook/WebhookSignature.ts"

const duties = (...names: ReadonlyArray<keyof typeof CALLER_DUTIES>): string =>
  names.map((name) => `- ${CALLER_DUTIES[name]}`).join("\n")

/** How a receiver verifies a webhook: complete, to be copied. */
export const VERIFICATION_IN_PYTHON = `import base64, hashlib, hmac, re, time

def is_authentic(secret: str, signature: str, body: bytes) -> bool:
    found = re.fullmatch(r"t=([0-9]{1,15}),v1=([0-9a-f]{64})", signature)
    if not found or abs(int(time.time()) - int(found[1])) > ${WEBHOOK_TOLERANCE_SECONDS}:
        return False
    key = base64.urlsafe_b64decode(secret.removeprefix("svc_wh_") + "=")
    mac = hmac.new(key, found[1].encode() + b"." + body, hashlib.sha256)
    return hmac.compare_digest(mac.hexdigest(), found[2])`

/** What holds for all of the interface, in Markdown: the description of the OpenAPI document (part 9). */
export const INTRODUCTION = `The service answers one question before a machine spends money: did the end user allow this? It checks a proposed action against a mandate that the user approved with a passkey, answers with a decision, and keeps signed evidence of the whole lifecycle. It never moves money itself.

1. Create a **mandate**: what may be done, where, for how much, how often.
2. Open an **approval session** and send the user to its \`approval_url\`, where they approve the mandate with a passkey.
3. Propose an action: the answer is an **authorization** with a decision.
4. Only while \`can_execute\` is \`true\`: execute the action with your own provider.
5. Report the outcome: a **commit** or a **cancellation**.
6. Fetch the **evidence** when you need to prove what was allowed and what happened.

## Authentication

Send \`Authorization: Bearer <API key>\`. A key has the prefix of its environment, \`svc_test_\` or \`svc_live_\`, and one or more scopes: \`read\`, \`write\`, \`webhooks\`. Each operation names the scope that it needs. A key that is unknown, revoked, expired or of the other environment is answered with 401 \`api_key_invalid\`; a scope that is missing with 403 \`scope_insufficient\`.

## Environments

The test and the live environment have base addresses, keys and data of their own; a key of one is refused by the other. Live keys work while a billing account is linked to the organization. Nothing in the test environment means that anything happened at a provider.

## Money

Amounts are integers in the currency's minor unit, from 1 to 9007199254740991, beside an upper-case ISO 4217 code: \`5000\` with \`EUR\` is 50.00 euros, with \`JPY\` 5000 yen. Fractions and text are refused. \`100.0\` is the integer 100.

## Timestamps

RFC 3339 in UTC, with upper-case \`T\` and \`Z\`. In requests: a real date of the years 2000 to 9999, no offset, a fraction of up to nine digits. In answers: every timestamp that the service sets has nine fraction digits; one that a caller gave is shown as it was given, less trailing zeros of its fraction. Compare them as instants, not as text.

## Requests

Bodies are JSON in UTF-8 with \`Content-Type: application/json\`, at most 64 KiB, each member name once. A member that the operation does not know is refused, since it could be a limit that you rely on; \`null\` never stands for a member that is left out. Text has 1 to 255 characters (code points) unless the member says otherwise, and no U+0000. Paths are exact. HEAD is answered as GET. Every answer has an \`X-Request-Id\`; give it to support.

## Idempotency

Every lifecycle write needs an \`Idempotency-Key\` of 1 to 255 visible ASCII characters; draw one for each operation, and send the same key and the same body when you repeat it, after a timeout for instance. The repetition has no second effect: its answer has the status of the first, the resource as it is now, and \`Idempotency-Replayed: true\`. Under the same key with other input, of another operation too, the answer is 409 \`idempotency_key_reused\`: keys are scoped to the organization alone. Only a success binds a key. A binding has no end of its own.

## Pagination

Lists answer \`data\`, \`has_more\` and \`next_cursor\`, newest first; the journal of a mandate is oldest first. \`limit\` is 1 to ${LIST_LIMIT_MAX}, by default ${LIST_LIMIT_DEFAULT}. Go on with \`cursor\` set to the \`next_cursor\` of the page before, under the same filters, until it is \`null\`. The event feed is oldest first too, goes on with \`after\` in place of \`cursor\`, and its \`next_cursor\` is good at the end too.

## Errors

Every error is a problem (RFC 9457, \`application/problem+json\`). Go by \`code\`, show \`detail\` to people, and repeat the request only when \`retryable\` is \`true\`, under the same idempotency key and after \`Retry-After\` if there is one. \`type\` is the address of a page that says what the code means and what to do. 422 \`validation_failed\` lists every fault in \`errors\`, each with a JSON pointer. A decision other than ALLOW is not an error: it is a 201 with its \`reasons\`.

When an outcome is uncertain (a timeout, a lost answer), start nothing new: read the authorization, reconcile it with your provider, and repeat the original report under the same key with the same body.

## Commitments

Each proposal carries a commitment to an opening: 32 random bytes that you keep, and reveal when you commit. It proves that whoever reports the commit is the one who proposed the action. \`commitment\` is base64url(SHA-256(\`svc:authorization:commitment:v1\`, a line feed, the 32 bytes)). Draw a fresh opening for every proposal: a commitment that was used before is 409 \`commitment_reused\`, whatever was decided then.

## Executing

${duties("executionGate", "executionDeadline", "conflictIsIncident")}
- Commit when your provider definitely accepted the action. Cancel when it definitely did not and can no longer happen. While the outcome is open, do neither.
- Report before the reservation expires: at \`execute_before\`, plus the seconds of grace that your organization has.

## Webhooks

An endpoint is sent a signed notification of each event that it wants; the webhooks below say which there are. \`Svc-Signature: t=...,v1=...\` is the HMAC-SHA256 over \`t\`, a full stop and the raw body, byte for byte as it came. The key is the 32 bytes that what follows \`svc_wh_\` in the secret decodes to as base64url. Refuse a \`t\` that is more than ${WEBHOOK_TOLERANCE_SECONDS} s from your clock.

\`\`\`python
${VERIFICATION_IN_PYTHON}
\`\`\`

Answer with a 2xx within 15 s (5 s to connect); anything else is tried again, nine times in all over about 21 hours, with the same bytes. Catch up with what was missed at \`GET /v1/events\`.

${duties("deduplicateById", "triggerNotProof")}

## Evidence

The evidence of a mandate is a flattened JWS (ES256) over its policy, its approval and every event. Verify, in this order: \`format\` is \`svc.evidence.v1\`; the protected header has exactly \`alg\` (\`ES256\`) and \`kid\`; exactly one key of \`/.well-known/jwks.json\` has that \`kid\`; the signature over \`protected\`, a full stop, \`payload\`; only then decode the payload and require its \`schema\` to be \`svc.evidence.v1\`.

${duties("evidenceIsIncident")}

## Caller duties

What the service cannot do for you:

- API keys: ${CALLER_DUTIES.keysOnServers}
- \`subject_reference\`: ${CALLER_DUTIES.opaqueSubject}
- \`return_state\`: ${CALLER_DUTIES.unpredictableState}
- \`approval_url\`: ${CALLER_DUTIES.secretApprovalUrl}
- The execution gate: ${CALLER_DUTIES.executionGate}
- The deadline: ${CALLER_DUTIES.executionDeadline}
- Conflicting reports: ${CALLER_DUTIES.conflictIsIncident}
- Evidence: ${CALLER_DUTIES.evidenceIsIncident}
- Webhooks: ${CALLER_DUTIES.deduplicateById} ${CALLER_DUTIES.triggerNotProof}

## Rate limits

Each API key has a token bucket, by default 100 requests a second with bursts of 200. Answers say what is left in \`RateLimit\` and \`RateLimit-Policy\`, and in \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\`. Beyond it the answer is 429 \`rate_limited\` with \`Retry-After\` in seconds. An exhausted budget is a DENY decision, never a 429.

## Compatibility

Version 1 changes in compatible ways only: new operations, new optional request members and query parameters, new members and headers of answers, new problem codes, reason codes and event types, wider bounds, other words in texts for people. Take answers as open: pass over members that you do not know, go by the status of a problem whose code you do not know, and treat a reason or an event type that you do not know as one that you cannot handle. Identifiers and cursors are opaque. What a request means, the type and meaning of a member, and the statuses of an operation stay; anything else would be a new version, beside this one.`
