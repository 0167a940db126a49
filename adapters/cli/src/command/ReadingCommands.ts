/**
 * Names of commands that are in the operator log and change nothing in the store. What is missing of them need not be
 * repeated. A command that only reads with some options is not among them.
 */
export const READING_COMMANDS: ReadonlyArray<string> = [
  "organization list",
  "organization show",
  "api-key list",
  "signing-key list",
  "mandate list",
  "mandate show",
  "mandate events",
  "authorization list",
  "authorization show",
  "webhook-endpoint list",
  "webhook-endpoint deliveries",
  "event list",
  "events tail",
  "operator-log"
]
