import { Decision } from "@svc/protocol/Authorization"
import { JournalEventType } from "@svc/protocol/Journal"
import type { MetricFamilies } from "./MetricFamilies.ts"

/** Upper bounds of latencies, in seconds: from a read in memory to the 10 s after which a request is given up. */
const LATENCY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Upper bounds of the latency of a webhook attempt, in seconds: it may take 15 s. */
const ATTEMPT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]
/** Upper bounds of the number of changes that one statement appends: at most 64. */
const BATCH_CHANGES = [1, 2, 4, 8, 16, 32, 64]

/** How an append can end, beside the faults that any operation can have. */
const APPEND_RESULTS = ["ok", "stale", "out_of_time", "claim_taken", "store_unavailable"]

/** What becomes of a reservation. */
export type ReservationStep = "opened" | "committed" | "cancelled" | "expired"

const RESERVATION_STEPS: ReadonlyArray<ReservationStep> = ["opened", "committed", "cancelled", "expired"]

const STORE = "MandateStore"

const alone = (values: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  values.map((value) => [value])

const httpMetrics = ({ counter, gauge, histogram }: MetricFamilies) => ({
  requests: counter("svc_http_requests_total", {
    help: "Requests that were answered, by route template, method and status.",
    labels: ["route", "method", "status"]
  }),
  requestSeconds: histogram("svc_http_request_duration_seconds", {
    help: "Time from the headers of a request to its response, before that is sent.",
    labels: ["route", "method"],
    boundaries: LATENCY_SECONDS
  }),
  requestsInFlight: gauge("svc_http_requests_in_flight", { help: "Requests that are being answered." }),
  problems: counter("svc_http_problems_total", {
    help: "Requests that were answered with a problem, by its code.",
    labels: ["code"]
  })
})

const storeMetrics = ({ counter, gauge, histogram }: MetricFamilies) => ({
  operations: counter("svc_store_operations_total", {
    help: "Calls of the store, by port, operation and result.",
    labels: ["port", "operation", "result"],
    from: APPEND_RESULTS.map((result) => [STORE, "append", result])
  }),
  operationSeconds: histogram("svc_store_operation_duration_seconds", {
    help: "Latency of calls of the store, whatever their result.",
    labels: ["port", "operation"],
    from: [
      [STORE, "append"],
      [STORE, "load"]
    ],
    boundaries: LATENCY_SECONDS
  }),
  batchChanges: histogram("svc_store_append_batch_changes", {
    help: "Changes that one statement appends.",
    boundaries: BATCH_CHANGES
  }),
  queueLength: gauge("svc_store_append_queue_length", {
    help: "Changes that wait for the statement under way."
  }),
  connectionsBusy: gauge("svc_store_write_connections_busy", {
    help: "Connections for writes that run a statement."
  }),
  connectionsAwaited: gauge("svc_store_write_connections_awaited", {
    help: "Statements that wait for a connection for writes."
  })
})

const decisionMetrics = ({ counter }: MetricFamilies) => ({
  decisions: counter("svc_decisions_total", {
    help: "Decisions on proposed actions that were recorded.",
    labels: ["decision"],
    from: alone(Decision.literals)
  }),
  reasons: counter("svc_decision_reasons_total", {
    help: "Decisions for which a rule was a reason; one decision may have several.",
    labels: ["decision", "reason"]
  }),
  reservations: counter("svc_reservations_total", {
    help: "Reservations by what became of them. Those that are open: opened, less the others.",
    labels: ["step"],
    from: alone(RESERVATION_STEPS)
  }),
  journalEvents: counter("svc_journal_events_total", {
    help: "Events that were appended to journals, by type.",
    labels: ["type"],
    from: alone(JournalEventType.literals)
  })
})

const webhookMetrics = ({ counter, gauge, histogram }: MetricFamilies) => ({
  attempts: counter("svc_webhook_attempts_total", {
    help: "Webhook attempts of this process: delivered (a 2xx), the class of another status, or why there was none.",
    labels: ["result"],
    from: alone(["delivered"])
  }),
  attemptSeconds: histogram("svc_webhook_attempt_duration_seconds", {
    help: "Time from the name resolution of a webhook attempt to the status or the failure.",
    boundaries: ATTEMPT_SECONDS
  }),
  attemptsUnderWay: gauge("svc_webhook_attempts_under_way", {
    help: "Webhook attempts that this process has under way."
  }),
  lag: gauge("svc_webhook_lag_seconds", {
    help: "For how long the oldest due webhook delivery has been waiting for an attempt; 0 if none is due."
  }),
  waiting: gauge("svc_webhook_deliveries_due", {
    help: "Webhook deliveries that are due and wait for an attempt, counted up to 100,000."
  }),
  disabled: gauge("svc_webhook_endpoints_disabled", {
    help: "Webhook endpoints that are disabled after too many failures."
  })
})

const securityMetrics = ({ counter, gauge }: MetricFamilies) => ({
  signatures: counter("svc_signatures_total", {
    help: "Signatures of evidence that were asked for, by result.",
    labels: ["result"],
    from: alone(["ok", "signer_unavailable"])
  }),
  signingKeyAge: gauge("svc_signing_key_age_seconds", {
    help: "For how long the current signing key has been signing."
  }),
  identityAssertions: counter("svc_identity_assertions_total", {
    help: "Identity assertions by result of their verification.",
    labels: ["result"],
    from: alone(["ok", "identity_assertion_refused", "identity_keys_unavailable"])
  })
})

/** What a server asks a key management service for once it runs: signatures alone. */
const SIGN = "sign"

const keyManagementMetrics = ({ counter, histogram }: MetricFamilies) => ({
  calls: counter("svc_kms_calls_total", {
    help: "Calls of a key management service, by operation and result; each with all its attempts.",
    labels: ["operation", "result"],
    from: ["ok", "key_management_unavailable", "key_management_refused"].map((result) => [SIGN, result])
  }),
  callSeconds: histogram("svc_kms_call_duration_seconds", {
    help: "Latency of calls of a key management service, whatever their result.",
    labels: ["operation"],
    from: alone([SIGN]),
    boundaries: LATENCY_SECONDS
  })
})

const workerMetrics = ({ counter, gauge }: MetricFamilies) => ({
  dueLag: gauge("svc_due_lag_seconds", {
    help: "For how long the earliest due transition has not been recorded; 0 if none is due."
  }),
  statistics: counter("svc_store_statistics_total", {
    help: "Readings of the gauges that describe the whole store, by result.",
    labels: ["result"],
    from: alone(["ok", "store_unavailable"])
  })
})

/** Every metric of the service but those of the process, as docs/metrics.md lists them. */
export const makeServiceMetrics = (families: MetricFamilies) => ({
  http: httpMetrics(families),
  store: storeMetrics(families),
  decisions: decisionMetrics(families),
  webhooks: webhookMetrics(families),
  security: securityMetrics(families),
  keyManagement: keyManagementMetrics(families),
  workers: workerMetrics(families)
})

export type ServiceMetrics = ReturnType<typeof makeServiceMetrics>
