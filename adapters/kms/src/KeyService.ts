import {
  type KeyManagementFault,
  KeyManagementRefused,
  KeyManagementUnavailable
} from "@svc/domain/ports/KeyManagement"
import { Effect } from "effect"

/** A key management service; keys have their own names there, without that of the service. */
export interface KeyService {
  /** The point of a P-256 key that signs, uncompressed, and the name that stays the key's own. */
  readonly publicKey: (
    key: string
  ) => Effect.Effect<{ readonly key: string; readonly publicKey: Uint8Array }, KeyManagementFault>
  /** 64 bytes, r then s. */
  readonly sign: (key: string, digest: Uint8Array) => Effect.Effect<Uint8Array, KeyManagementFault>
  /** A new master key, encrypted under the key. */
  readonly newMasterKey: (
    key: string
  ) => Effect.Effect<{ readonly key: string; readonly encrypted: Uint8Array }, KeyManagementFault>
  readonly openMasterKey: (
    key: string,
    encrypted: Uint8Array
  ) => Effect.Effect<Uint8Array, KeyManagementFault>
}

/** Attempts of one call, the first included. The clients of the services wait between them. */
export const MAX_ATTEMPTS = 3
/** Longest that one attempt waits for an answer, in milliseconds; a signature takes some 10 ms. */
export const ATTEMPT_TIMEOUT_MILLIS = 1000
/** Longest that a call takes with all its attempts, in milliseconds: evidence is to be answered within 10 s. */
export const CALL_TIMEOUT_MILLIS = 4000

/** Calls a service, within the time limit. `faultOf` says what an error means. */
export const calling = <A>(
  key: string,
  call: (signal: AbortSignal) => Promise<A>,
  faultOf: (error: unknown) => KeyManagementFault
): Effect.Effect<A, KeyManagementFault> =>
  Effect.tryPromise({ try: call, catch: faultOf }).pipe(
    Effect.timeoutOrElse({
      duration: CALL_TIMEOUT_MILLIS,
      orElse: () =>
        Effect.fail(
          new KeyManagementUnavailable({ detail: `${key} did not answer within ${CALL_TIMEOUT_MILLIS} ms` })
        )
    })
  )

export const refused = (key: string, what: string): KeyManagementRefused =>
  new KeyManagementRefused({ detail: `${key} ${what}` })
