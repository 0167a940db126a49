import { Context, Data, type Effect, type Redacted } from "effect"

/** Length of the master key, in bytes, under which secrets are sealed (part 9). */
export const MASTER_KEY_BYTES = 32

/** What a sealed secret is bound to: it opens nowhere else (part 8). */
export interface SealContext {
  readonly purpose: "approval_token" | "webhook_secret" | "signing_key"
  /** Empty where the secret belongs to the deployment. */
  readonly organization: string
  readonly row: string
  readonly version: number
}

/** What the private half of a signing key is sealed for. */
export const signingKeyContext = (kid: string): SealContext => ({
  purpose: "signing_key",
  organization: "",
  row: kid,
  version: 1
})

/** What the secret of a webhook endpoint is sealed for. */
export const webhookSecretContext = (
  endpoint: { readonly id: string; readonly organizationId: string },
  version: number
): SealContext => ({
  purpose: "webhook_secret",
  organization: endpoint.organizationId,
  row: endpoint.id,
  version
})

/** The sealed text was altered, moved, or sealed under a key that is gone. */
export class SealBroken extends Data.TaggedError("SealBroken")<{ readonly purpose: string }> {}

/** Keeps secrets at rest: AES-256-GCM under a subkey per purpose. */
export class SecretSealer extends Context.Service<
  SecretSealer,
  {
    readonly seal: (context: SealContext, secret: Redacted.Redacted<string>) => Effect.Effect<string>
    readonly open: (
      context: SealContext,
      sealed: string
    ) => Effect.Effect<Redacted.Redacted<string>, SealBroken>
  }
>()("@svc/domain/ports/SecretSealer") {}
