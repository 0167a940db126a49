export type AttemptError =
  | "target_refused"
  | "connection_failed"
  | "tls_failed"
  | "timeout"
  | "response_invalid"
  | "worker_lost"
