import type { Instant } from "@svc/protocol/Timestamp"

interface MayBeDue {
  readonly mandate: string
  readonly nextDue: Instant | undefined
}

/** Whether the next transition has come; at the very instant it has. */
export const isDue = ({ nextDue }: MayBeDue, now: Instant): boolean => nextDue !== undefined && nextDue <= now

/** Those that are due, by the instant at which they were; at one instant by identifier. */
export const dueFirst = <A extends MayBeDue>(streams: ReadonlyArray<A>, now: Instant): ReadonlyArray<A> =>
  streams
    .filter((stream) => isDue(stream, now))
    .sort((left, right) => compare(left.nextDue!, right.nextDue!) || compare(left.mandate, right.mandate))

const compare = <A extends bigint | string>(left: A, right: A): number =>
  left < right ? -1 : left > right ? 1 : 0
