import { Data, Result } from "effect"
import { nameOfHost, type ServerHost } from "./PostgresUrl.ts"

/**
 * Which server it is, and of which data. Those of the same cluster and timeline that started in the same microsecond are one
 * server, reached in several ways; with other starts they run on copies of one disk.
 */
export interface HostIdentity {
  /** Null where the server does not tell, as are the timeline and the start. */
  readonly cluster: string | null
  readonly timeline: string | null
  /** When it started, in microseconds since 1970. */
  readonly started: string | null
}

/** What became of asking a host. */
export type HostAnswer = ServerHost &
  (
    | { readonly kind: "writable"; readonly identity: HostIdentity }
    | {
        readonly kind: "standby"
        /** Null where the server does not tell. */
        readonly cluster: string | null
        /** Whether a primary sends it what it records, at this moment. */
        readonly follows: boolean
      }
    | { readonly kind: "read_only" }
    | { readonly kind: "failed"; readonly fault: unknown }
  )

/** No host of the list takes writes, each for its own reason. */
export class NoWritableHost extends Data.TaggedError("NoWritableHost")<{
  readonly answers: ReadonlyArray<HostAnswer>
}> {
  override readonly message = "no host of the list takes writes"
}

/** Hosts of the list take writes and are different servers: one of them is a lost primary that came back, or a copy of it. */
export class SeveralPrimaries extends Data.TaggedError("SeveralPrimaries")<{
  readonly hosts: ReadonlyArray<ServerHost>
}> {
  override get message(): string {
    return `${this.hosts.map(nameOfHost).join(" and ")} take writes and are not the same server: stop the one that is not the primary any more`
  }
}

/** Whether they are the same place. */
export const isSame = (one: ServerHost, other: ServerHost | undefined): boolean =>
  one.host === other?.host && one.port === other.port

const differ = (one: HostIdentity, other: HostIdentity): boolean =>
  (["cluster", "timeline", "started"] as const).some(
    (part) => one[part] !== null && other[part] !== null && one[part] !== other[part]
  )

/** The host to use: the last one while it takes writes, else the first in the list that does. */
export const writableOf = (
  answers: ReadonlyArray<HostAnswer>,
  last?: ServerHost
): Result.Result<ServerHost, NoWritableHost | SeveralPrimaries> => {
  const writable = answers.filter((answer) => answer.kind === "writable")
  const [first] = writable
  if (first === undefined) return Result.fail(new NoWritableHost({ answers }))
  if (writable.some(({ identity }) => differ(identity, first.identity))) {
    return Result.fail(new SeveralPrimaries({ hosts: writable.map(({ host, port }) => ({ host, port })) }))
  }
  const { host, port } = writable.find((one) => isSame(one, last)) ?? first
  return Result.succeed({ host, port })
}
