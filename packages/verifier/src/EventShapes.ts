import { isTimeZoneTable, type TimeZoneTable } from "@svc/domain/calendar/TimeZoneTable"
import { RULES_VERSION } from "@svc/domain/mandate/JournalFact"
import { BASE64URL_OF_32_BYTES, isBase64Url } from "@svc/protocol/Base64Url"
import type { JournalEventType } from "@svc/protocol/Journal"
import { normalizeTimestamp, parseTimestamp } from "@svc/protocol/Timestamp"
import {
  integerBetween,
  isObject,
  listOf,
  matching,
  objectOf,
  oneOf,
  recordOf,
  type Shape,
  stringWhere,
  textBetween,
  where
} from "./Shape.ts"

const MAX = Number.MAX_SAFE_INTEGER

/** Longest grace for reports that an organization can have, in seconds (part 5). */
const REPORT_GRACE_MAX_SECONDS = 3600
const EXECUTION_WINDOW_SECONDS = [30, 86_400] as const
const MAX_ATTRIBUTES = 50
const MAX_PERIODS = 5
const MAX_PERIOD_INTERVAL = 366
/** Far more reasons and display lines than any policy leads to. */
const MAX_LIST = 1000

const text = textBetween(1, 255)
const anyText = stringWhere(() => true)
const someText = stringWhere((value) => value !== "")
const amount = integerBetween(1, MAX)
const count = integerBetween(0, MAX)
const boolean = oneOf(true, false)
const bytes = stringWhere(isBase64Url)
const digest = matching(BASE64URL_OF_32_BYTES)
const currency = matching(/^[A-Z]{3}$/u)
const empty = objectOf({})

const identifier = (prefix: string): Shape => matching(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`, "u"))

/** A timestamp that the service set: nine digits. */
const instant = stringWhere((value) => value.length === 30 && parseTimestamp(value) !== undefined)

/** A timestamp as it is stored: nine digits if the service set it, without trailing zeros if a caller gave it. */
const timestamp = stringWhere(
  (value) =>
    parseTimestamp(value) !== undefined && (value.length === 30 || normalizeTimestamp(value) === value)
)

const callerTimestamp = stringWhere(
  (value) => parseTimestamp(value) !== undefined && normalizeTimestamp(value) === value
)

const kind = oneOf("SINGLE", "RECURRING")
const environment = oneOf("test", "live")
const window = objectOf({ starts_at: timestamp, ends_at: timestamp })

const period = objectOf(
  {
    unit: oneOf("DAY", "WEEK", "MONTH", "YEAR"),
    interval: integerBetween(1, MAX_PERIOD_INTERVAL),
    alignment: oneOf("CALENDAR", "MANDATE"),
    time_zone: text,
    first_period: oneOf("FULL", "PRORATED")
  },
  { max_amount: amount, max_executions: amount }
)

const policy = objectOf(
  { currency, max_amount: amount, min_amount: amount, allowed_actions: listOf(text, 1, 50) },
  {
    allowed_merchants: listOf(text, 1, 100),
    attribute_rules: listOf(objectOf({ name: textBetween(1, 64), in: listOf(text, 1, 100) }), 0, 20),
    max_total_amount: amount,
    max_executions: amount,
    periods: listOf(period, 1, MAX_PERIODS)
  }
)

const zoneTable = objectOf({
  name: text,
  tzdb_version: someText,
  offset_seconds: where(Number.isInteger),
  transitions: listOf(objectOf({ at: anyText, offset_seconds: where(Number.isInteger) }), 0, MAX)
})

const terms = objectOf(
  {
    organization_id: identifier("org"),
    environment,
    mandate_id: identifier("mnd"),
    kind,
    subject_reference: text,
    policy,
    policy_digest: digest,
    window,
    approval_deadline: timestamp,
    time_zones: listOf(
      (value, path) => zoneTable(value, path) ?? (isTimeZoneTable(value as TimeZoneTable) ? undefined : path),
      0,
      MAX_PERIODS
    )
  },
  { description: text }
)

const statement = objectOf(
  {
    approval_session_id: identifier("aps"),
    environment,
    organization_id: identifier("org"),
    organization_name: someText,
    mandate_id: identifier("mnd"),
    subject_reference: text,
    kind,
    policy,
    policy_digest: digest,
    window,
    approval_deadline: timestamp,
    display: objectOf({
      locale: someText,
      lines: listOf(objectOf({ label: someText, value: someText }), 1, MAX_LIST)
    }),
    nonce: digest
  },
  { description: text }
)

const approval = objectOf(
  {
    statement,
    rp_id: anyText,
    origin: anyText,
    authenticator_data: bytes,
    client_data_json: bytes,
    signature: bytes,
    credential: objectOf({
      id: bytes,
      passkey_id: identifier("psk"),
      public_key: bytes,
      algorithm: where(Number.isInteger),
      backup_eligible: boolean,
      enrolled_at: instant,
      enrolled_in_this_session: boolean
    }),
    identity: objectOf({ issuer: someText, jti: someText, assertion_sha256: digest })
  },
  { user_handle: bytes }
)

const counters = {
  committed_amount: count,
  reserved_amount: count,
  late_amount: count,
  committed_executions: count,
  reserved_executions: count,
  late_executions: count
}

const usage = objectOf({
  ...counters,
  periods: listOf(
    objectOf(
      { period: count, starts_at: instant, ends_at: instant, ...counters },
      { max_amount: count, max_executions: count }
    ),
    0,
    MAX_PERIODS
  )
})

const proposal = {
  external_reference: text,
  proposed_action: objectOf(
    { action: text, payment: objectOf({ amount, currency }) },
    { attributes: recordOf(textBetween(1, 64), text, MAX_ATTRIBUTES) }
  ),
  commitment: digest,
  execution_window_seconds: integerBetween(...EXECUTION_WINDOW_SECONDS)
}

const reason = objectOf(
  { code: someText, pointer: anyText, detail: someText },
  {
    limit: count,
    requested: count,
    used: count,
    reserved: count,
    period: count,
    resets_at: instant,
    resolve_with: listOf(anyText, 0, MAX_LIST),
    conflicting_authorizations: listOf(identifier("aut"), 0, MAX)
  }
)

const decision = (outcome: string, deadlines: Readonly<Record<string, Shape>> = {}): Shape =>
  objectOf({
    rules_version: oneOf(RULES_VERSION),
    ...proposal,
    decision: oneOf(outcome),
    reasons: listOf(reason, 0, MAX_LIST),
    usage,
    ...deadlines
  })

const commit = objectOf({
  external_action_reference: text,
  provider_transaction_reference: text,
  reported_accepted_at: callerTimestamp,
  commitment_opening: digest
})

const cancellationMembers = objectOf(
  {
    reason: oneOf(
      "EXECUTION_FAILED",
      "EXECUTOR_REJECTED",
      "EXECUTOR_UNAVAILABLE",
      "USER_WITHDREW",
      "CALLER_ABORTED",
      "DUPLICATE"
    ),
    execution_disposition: oneOf("NO_LONGER_POSSIBLE", "NEVER_BECAME_POSSIBLE")
  },
  { external_credential_reference: text }
)

const CREDENTIAL_REFERENCE = "external_credential_reference"

/** An external credential that could have acted must be named when it was disabled (part 5). */
const cancellation: Shape = (value, path) => {
  const fault = cancellationMembers(value, path)
  if (fault !== undefined || !isObject(value)) return fault
  return value.execution_disposition === "NO_LONGER_POSSIBLE" && !Object.hasOwn(value, CREDENTIAL_REFERENCE)
    ? [...path, CREDENTIAL_REFERENCE]
    : undefined
}

const conflict: Shape = (value, path) =>
  objectOf({
    reported: oneOf("COMMITTED", "CANCELLED"),
    content: isObject(value) && value.reported === "COMMITTED" ? commit : cancellation,
    late: boolean
  })(value, path)

/** What `data` holds, by the type of the event (part 7). */
const DATA: Readonly<Record<JournalEventType, Shape>> = {
  "mandate.created": terms,
  "mandate.approved": objectOf({ approval }),
  "mandate.rejected": objectOf({ approval_session_id: identifier("aps") }),
  "mandate.activated": empty,
  "mandate.consumed": objectOf({ authorization_id: identifier("aut") }),
  "mandate.revoked": objectOf({ reason: textBetween(1, 500) }),
  "mandate.expired": objectOf({ end_reason: oneOf("APPROVAL_DEADLINE_PASSED", "WINDOW_ENDED") }),
  "authorization.reserved": decision("ALLOW", {
    execute_before: timestamp,
    expires_at: timestamp,
    report_grace_seconds: integerBetween(0, REPORT_GRACE_MAX_SECONDS)
  }),
  "authorization.denied": decision("DENY"),
  "authorization.indeterminate": decision("INDETERMINATE"),
  "authorization.committed": commit,
  "authorization.cancelled": cancellation,
  "authorization.expired": empty,
  "authorization.outcome_conflict": conflict,
  "authorization.refund_reported": objectOf({
    amount,
    currency,
    provider_refund_reference: text,
    reported_refunded_at: callerTimestamp
  })
}

export const isKnownType = (type: unknown): type is JournalEventType =>
  typeof type === "string" && Object.hasOwn(DATA, type)

/** The shape of an event of a type, the first of its journal or a later one. */
export const eventShape = (type: JournalEventType, isFirst: boolean): Shape =>
  objectOf({
    seq: amount,
    id: identifier("evt"),
    type: oneOf(type),
    occurred_at: instant,
    source: oneOf("SERVICE_VERIFIED", "CALLER_REPORTED"),
    mandate_version: amount,
    ...(type.startsWith("authorization.") ? { authorization_id: identifier("aut") } : {}),
    data: DATA[type],
    hash: digest,
    ...(isFirst ? {} : { previous_hash: digest })
  })

const position = objectOf({ seq: amount, hash: digest })

const payloadMembers = {
  schema: anyText,
  generated_at: instant,
  organization_id: identifier("org"),
  environment,
  mandate: where(isObject),
  head: position
}

/** The shape of a payload, its events aside. That the mandate is right is for the fold to say. */
export const payloadShape: Shape = objectOf({
  ...payloadMembers,
  events: where((events) => Array.isArray(events) && events.length > 0 && events.every(isObject))
})

/** The shape of the payload of a continuation, which may have no events. */
export const continuationShape: Shape = objectOf({
  ...payloadMembers,
  after: position,
  events: where((events) => Array.isArray(events) && events.every(isObject))
})
