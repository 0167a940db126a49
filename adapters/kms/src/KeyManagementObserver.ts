import { Context, type Effect } from "effect"

/** What a key management service is asked for. */
export type KeyOperation = "public_key" | "sign" | "new_master_key" | "open_master_key"

/** Is around every call of a key management service, with all its attempts. It is not told which key. */
export interface KeyManagementObserver {
  readonly calling: <A, E>(operation: KeyOperation, call: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/** Nobody is told. */
export const UNOBSERVED: KeyManagementObserver = { calling: (_operation, call) => call }

/** Who is around the calls. By default nobody. */
export const KeyManagementObserver = Context.Reference<KeyManagementObserver>(
  "@svc/kms/KeyManagementObserver",
  { defaultValue: () => UNOBSERVED }
)
