import { Resolver } from "node:dns/promises"
import { Data, Effect } from "effect"

/** The name servers could not be reached, which says nothing about the name. */
export class ResolutionFailed extends Data.TaggedError("ResolutionFailed")<{ readonly cause: unknown }> {}

/** All addresses that a name has now, IPv4 and IPv6, as text; none when the name has none or does not exist. */
export type Resolve = (name: string) => Effect.Effect<ReadonlyArray<string>, ResolutionFailed>

/** How long a name server may take for its first answer, in milliseconds; each further try doubles it. */
const QUERY_TIMEOUT_MS = 1000
const QUERY_TRIES = 2

/** Error codes of a name that has no address of the family. */
const ABSENT = ["ENOTFOUND", "ENODATA"]

const saysAbsent = (reason: unknown): boolean =>
  typeof reason === "object" && reason !== null && "code" in reason && ABSENT.includes(String(reason.code))

const ask = async (resolver: Resolver, name: string): Promise<ReadonlyArray<string>> => {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []))
  const failure = answers.find((answer) => answer.status === "rejected" && !saysAbsent(answer.reason))
  if (addresses.length === 0 && failure?.status === "rejected") throw failure.reason
  return addresses
}

/**
 * Asks the name servers of the host, or those given (`address:port`), for both families. Where one family's look-up
 * fails, the other's addresses stand: only addresses that are known are checked and connected to.
 *
 * The servers are asked directly. The system's own look-up holds a thread of a small pool for as long as it takes, so
 * that names of one tenant with a slow server could hold up every other look-up of the process.
 */
export const dnsResolve =
  (options: { readonly servers?: ReadonlyArray<string> } = {}): Resolve =>
  (name) =>
    Effect.tryPromise({
      try: (signal) => {
        const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
        if (options.servers !== undefined) resolver.setServers(options.servers)
        signal.addEventListener("abort", () => resolver.cancel(), { once: true })
        return ask(resolver, name)
      },
      catch: (cause) => new ResolutionFailed({ cause })
    })
