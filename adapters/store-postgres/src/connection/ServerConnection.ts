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

/** One of several hosts never has all the time that there is, since the others wait for it. */
const connectTimeoutOf = (
  seconds: number | undefined,
  isSought: boolean
): Pick<PostgresOptions, "connectTimeout"> => {
  if (seconds === undefined || (seconds === 0 && isSought)) return {}
  return { connectTimeout: seconds === 0 ? Duration.infinity : Duration.seconds(seconds) }
}

/** The address that a URL names, which `postgresUrlFault` accepts, and the options of connections to it. */
export const serverConnection = Effect.fnUntraced(function* (
  url: Redacted.Redacted
): Effect.fn.Return<
  { readonly address: PostgresAddress; readonly options: PostgresOptions },
  RootCertificateUnreadable
> {
  const address = postgresAddressOf(Redacted.value(url))
  const { applicationName, connectTimeoutSeconds: seconds, hosts, isSought, rootCertificate } = address
  const options: PostgresOptions = {
    url: Redacted.make(address.url, { label: "database" }),
    ...(isSought ? { hosts } : {}),
    ...(rootCertificate === undefined ? {} : { tls: yield* tlsOptions(rootCertificate) }),
    ...(applicationName === undefined ? {} : { applicationName }),
    ...connectTimeoutOf(seconds, isSought)
  }
  return { address, options }
})
