import { IdentityVerifier } from "@svc/domain/ports/IdentityVerifier"
import { Signer } from "@svc/domain/ports/Signer"
import { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import type { AttemptResult } from "@svc/domain/webhook/WebhookDelivery"
import { Effect, Layer } from "effect"
import { resultOf, timed } from "./Outcome.ts"
import type { ServiceMetrics } from "./ServiceMetrics.ts"

const MILLISECONDS_PER_SECOND = 1000
const STATUSES_PER_CLASS = 100
const SUCCESS_CLASS = 2

/** How an attempt ended, as the value of a label: `delivered`, `status_5xx` or the like, or the error that left it without status. */
const resultOfAttempt = ({ error, status }: AttemptResult): string => {
  if (status === undefined) return error ?? "unknown"
  const statusClass = Math.trunc(status / STATUSES_PER_CLASS)
  return statusClass === SUCCESS_CLASS ? "delivered" : `status_${statusClass}xx`
}

/** The same transport, with its attempts measured. */
export const meteredTransport = ({
  webhooks: { attemptSeconds, attempts, attemptsUnderWay }
}: ServiceMetrics): Layer.Layer<WebhookTransport, never, WebhookTransport> =>
  Layer.effect(
    WebhookTransport,
    Effect.map(WebhookTransport, (transport) => ({
      check: transport.check,
      deliver: (attempt) =>
        Effect.suspend(() => {
          attemptsUnderWay.add(1)
          return transport.deliver(attempt).pipe(
            Effect.tap((result) =>
              Effect.sync(() => {
                attempts.add(1, resultOfAttempt(result))
                attemptSeconds.observe(result.durationMs / MILLISECONDS_PER_SECOND)
              })
            ),
            Effect.ensuring(Effect.sync(() => attemptsUnderWay.add(-1)))
          )
        })
    }))
  )

/** Counts attempts that ended before anything was sent. They took no time, so no duration is observed. */
export const countUnsentAttempts =
  ({ webhooks: { attempts } }: ServiceMetrics) =>
  (result: AttemptResult): void =>
    attempts.add(1, resultOfAttempt(result))

/** The same signer, with its signatures counted. */
export const meteredSigner = ({
  security: { signatures }
}: ServiceMetrics): Layer.Layer<Signer, never, Signer> => {
  const counted = <A, E>(effect: Effect.Effect<A, E>, isCounted: (result: string) => boolean) =>
    timed(effect, (exit) => {
      const result = resultOf(exit)
      if (isCounted(result)) signatures.add(1, result)
    })
  return Layer.effect(
    Signer,
    Effect.map(Signer, ({ current, keySet }) => ({
      keySet,
      // Without a key there is no signature to ask for, which counts as one that failed.
      current: Effect.map(
        counted(current, (result) => result !== "ok"),
        ({ begin, kid }) => ({
          kid,
          begin: () => {
            const { signature, update } = begin()
            return { update, signature: counted(signature, () => true) }
          }
        })
      )
    }))
  )
}

/** The same verifier, with the results of its verifications counted. */
export const meteredIdentityVerifier = ({
  security: { identityAssertions }
}: ServiceMetrics): Layer.Layer<IdentityVerifier, never, IdentityVerifier> =>
  Layer.effect(
    IdentityVerifier,
    Effect.map(IdentityVerifier, ({ verify }) => ({
      verify: (input) => timed(verify(input), (exit) => identityAssertions.add(1, resultOf(exit)))
    }))
  )
