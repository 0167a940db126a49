import { readFile } from "node:fs/promises"
import { type ConnectionOptions, getCACertificates } from "node:tls"
import { Data, Duration, Effect, Redacted } from "effect"
import type { PostgresOptions } from "../PostgresStore.ts"
import { type PostgresAddress, postgresAddressOf } from "./PostgresUrl.ts"

/** The file that the URL of a server names as `sslrootcert` cannot be read. */
export class RootCertificateUnreadable extends Data.TaggedError("RootCertificateUnreadable")<{
  readonly file: string
}> {}

const tlsOptions = (rootCertificate: string): Effect.Effect<ConnectionOptions, RootCertificateUnreadable> =>
  rootCertificate === "system"
    ? Effect.sync(() => ({ ca: getCACertificates("system") }))
    : Effect.tryPromise({
        try: async () => ({ ca: await readFile(rootCertificate) }),
        catch: () => new RootCertificateUnreadable({ file: rootCertificate })
      })

/** The address that a URL names, which `postgresUrlFault` accepts, and the options of connections to it. */
export const serverConnection = Effect.fnUntraced(function* (
  url: Redacted.Redacted
): Effect.fn.Return<
  { readonly address: PostgresAddress; readonly options: PostgresOptions },
  RootCertificateUnreadable
> {
  const address = postgresAddressOf(Redacted.value(url))
  const { applicationName, connectTimeoutSeconds: seconds, rootCertificate } = address
  const options: PostgresOptions = {
    url: Redacted.make(address.url, { label: "database" }),
    ...(rootCertificate === undefined ? {} : { tls: yield* tlsOptions(rootCertificate) }),
    ...(applicationName === undefined ? {} : { applicationName }),
    ...(seconds === undefined
      ? {}
      : { connectTimeout: seconds === 0 ? Duration.infinity : Duration.seconds(seconds) })
  }
  return { address, options }
})
