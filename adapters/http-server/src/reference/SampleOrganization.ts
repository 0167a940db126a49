import { Context, type Redacted } from "effect"

/** What the samples of the reference are filled in with on the development server. */
export interface SampleOrganizationFacts {
  readonly apiKey: Redacted.Redacted<string>
  /** Origin of the page that the development server has in the place of the caller's application. */
  readonly returnOrigin: string
}

/**
 * The test organization that the samples of the reference are filled in for: of the development server alone,
 * which listens on loopback. Default: none.
 */
export const SampleOrganization = Context.Reference<SampleOrganizationFacts | undefined>(
  "@svc/http-server/reference/SampleOrganization",
  { defaultValue: () => undefined }
)
