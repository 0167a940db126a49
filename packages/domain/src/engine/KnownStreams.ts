import { type Instant, laterOf, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import type { StreamState } from "../mandate/MandateState.ts"
import type { LoadedStream, MandateStore } from "../ports/MandateStore.ts"
import { makeLeastRecentlySet } from "./LeastRecentlySet.ts"

/** Streams that are known at a time. */
const MAX_KNOWN_STREAMS = 2000
/** About how much all known streams hold, in characters of JSON; in memory each takes some three bytes. */
const MAX_KNOWN_CHARACTERS = 32_000_000
/** About what an open reservation holds, in characters of JSON. */
const RESERVATION_CHARACTERS = 250
/** Authorizations of a stream that are known in full, the newest. */
const MAX_KNOWN_AUTHORIZATIONS = 64
/** How long after it was loaded a stream is decided on, in seconds: as long as a decision may wait to be recorded. */
export const KNOWN_LIFETIME_SECONDS = 5n
/** How long a stream is loaded each time after another process changed it, in seconds. */
export const DOUBT_SECONDS = 1n

/** A stream as this process loaded or recorded it last. */
export interface KnownStream {
  readonly store: MandateStore["Service"]
  readonly stream: LoadedStream
  /** The store's clock when the stream was loaded, and the reading of this process's monotonic clock just after. */
  readonly loaded: { readonly now: Instant; readonly at: bigint }
}

/** What this process knows of streams, each by the turn key of its mandate, for whoever has that turn. */
export interface KnownStreams {
  /** The stream, and the store's clock by now, which is not less, or nothing if it has to be loaded. */
  readonly find: (
    key: string,
    store: MandateStore["Service"],
    at: bigint
  ) => (KnownStream & { readonly now: Instant }) | undefined
  readonly know: (key: string, known: KnownStream) => void
  /** Another process has changed the stream. */
  readonly doubt: (key: string, at: bigint) => void
}

/** Closed authorizations are rarely written to again: a command that needs one loads it. */
const newestOpen = ({ authorizations, ...state }: StreamState): StreamState => {
  const open = [...authorizations].filter(([, { state }]) => state === "RESERVED")
  return { ...state, authorizations: new Map(open.slice(-MAX_KNOWN_AUTHORIZATIONS)) }
}

/** Terms and authorizations never change, so each is measured once. */
const makeScale = () => {
  const measured = new WeakMap<object, number>()
  const weigh = (part: object): number => {
    const known = measured.get(part)
    if (known !== undefined) return known
    const weight = JSON.stringify(part, (_, member) =>
      typeof member === "bigint" ? `${member}` : member
    ).length
    measured.set(part, weight)
    return weight
  }
  return ({ authorizations, mandate, open }: StreamState): number => {
    let weight = weigh(mandate.terms) + open.length * RESERVATION_CHARACTERS
    for (const authorization of authorizations.values()) weight += weigh(authorization)
    return weight
  }
}

export const makeKnownStreams = (): KnownStreams => {
  /** Those that were known least recently first. */
  const streams = new Map<string, { readonly known: KnownStream; readonly weight: number }>()
  const doubts = makeLeastRecentlySet<bigint>(MAX_KNOWN_STREAMS)
  const weightOf = makeScale()
  let held = 0

  const isOld = ({ loaded }: KnownStream, at: bigint): boolean =>
    at - loaded.at >= KNOWN_LIFETIME_SECONDS * NANOS_PER_SECOND

  const forget = (key: string): void => {
    held -= streams.get(key)?.weight ?? 0
    streams.delete(key)
  }

  /** Forgets what is too old, and makes room. */
  const tidy = (at: bigint): void => {
    for (const [key, { known }] of streams) {
      const isFull = streams.size > MAX_KNOWN_STREAMS || held > MAX_KNOWN_CHARACTERS
      if (!isFull && !isOld(known, at)) return
      forget(key)
    }
  }

  return {
    find: (key, store, at) => {
      const known = streams.get(key)?.known
      if (known === undefined || known.store !== store || isOld(known, at)) return undefined
      const doubted = doubts.get(key)
      if (doubted !== undefined && at - doubted < DOUBT_SECONDS * NANOS_PER_SECOND) return undefined
      const { loaded, stream } = known
      return { ...known, now: laterOf(loaded.now + (at - loaded.at), stream.head.occurredAt) }
    },
    know: (key, known) => {
      const state = newestOpen(known.stream.state)
      const weight = weightOf(state)
      forget(key)
      streams.set(key, { known: { ...known, stream: { ...known.stream, state } }, weight })
      held += weight
      tidy(known.loaded.at)
    },
    doubt: (key, at) => {
      forget(key)
      doubts.set(key, at)
    }
  }
}
