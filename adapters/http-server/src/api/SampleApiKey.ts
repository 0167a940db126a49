import { Context, type Redacted } from "effect"

/**
 * The key of a test organization that the samples of the reference are filled in with: of the development server alone,
 * which listens on loopback. Default: none.
 */
export const SampleApiKey = Context.Reference<Redacted.Redacted<string> | undefined>(
  "@svc/http-server/api/SampleApiKey",
  { defaultValue: () => undefined }
)
