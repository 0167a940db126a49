import { fakeAwsKms, REGION } from "@svc/kms/test/FakeAwsKms"
import { Effect } from "effect"
import { vi } from "vitest"

/** AWS KMS as the client finds it by the variables of the AWS SDK. */
export const awsKmsInEnvironment = Effect.tap(fakeAwsKms, ({ endpoint }) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      vi.stubEnv("AWS_ENDPOINT_URL_KMS", endpoint)
      vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
      vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret")
      vi.stubEnv("AWS_REGION", REGION)
    }),
    () => Effect.sync(() => vi.unstubAllEnvs())
  )
)
