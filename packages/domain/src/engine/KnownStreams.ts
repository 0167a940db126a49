import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import type { StreamState } from "../mandate/MandateState.ts"
import type { LoadedStream, MandateStore } from "../ports/MandateStore.ts"
import { makeLeastRecentlySet } from "./LeastRecentlySet.ts"

/** Streams that are known at a time. */
const MAX_KNOWN_STREAMS = 2000
/** About how much all known streams hold, in characters of JSON; in memory each takes some three bytes. */
const MAX_KNOWN_CHARACTERS = 32_000_000
/** About what an open reservation holds, in characters of JSON. */
const RESERVATION_CHARACTERS = 250
/** Quotes, colons and commas beside a text or a name. */
const CHARACTERS_BETWEEN = 3
/** About what a number takes; an instant has 19 digits. */
const NUMBER_CHARACTERS = 10
/** Authorizations of a stream that are known in full, the newest. */
const MAX_KNOWN_AUTHORIZATIONS = 64
/** How long after this process loaded or recorded it last a stream is decided on, in seconds. */
export const KNOWN_LIFETIME_SECONDS = 5n
/** How old a reading of the store's clock may be, in seconds: as old as a decision that waits to be recorded. */
const READING_LIFETIME_SECONDS = 5n
/** How long a stream is loaded each time after another process changed it, in seconds. */
export const DOUBT_SECONDS = 1n

/** A stream as this process loaded or recorded it last. */
export interface KnownStream {
  readonly store: MandateStore["Service"]
  readonly stream: LoadedStream
}

/** The store's clock when something was loaded, and the reading of this process's monotonic clock just after. */
export interface ClockReading {
  readonly store: MandateStore["Service"]
  readonly now: Instant
  readonly at: bigint
}

/** A stream that may be decided on. */
export interface FoundStream {
  readonly stream: LoadedStream
  /** The store's clock by now, which is not less. */
  readonly now: Instant
  /** The store's clock when it was read last. */
  readonly lastRead: Instant
}

/** What this process knows of streams, each by the turn key of its mandate, for whoever has that turn. */
export interface KnownStreams {
  /** The stream, or nothing if it has to be loaded. */
  readonly find: (key: string, store: MandateStore["Service"], at: bigint) => FoundStream | undefined
  readonly know: (key: string, known: KnownStream, at: bigint) => void
  /** Every stream of the store is decided by its clock as it was read last, whichever stream that was for. */
  readonly noteClock: (reading: ClockReading) => void
  /** Another process has changed the stream. */
  readonly doubt: (key: string, at: bigint) => void
}

/** Closed authorizations are rarely written to again: a command that needs one loads it. */
const newestOpen = ({ authorizations, ...state }: StreamState): StreamState => {
  const open = [...authorizations].filter(([, { state }]) => state === "RESERVED")
  return { ...state, authorizations: new Map(open.slice(-MAX_KNOWN_AUTHORIZATIONS)) }
}

/** About the characters of a value in JSON: those of its texts and names, and some for each number and for what is between. */
const charactersOf = (value: unknown): number => {
  if (typeof value === "string") return value.length + CHARACTERS_BETWEEN
  if (typeof value !== "object" || value === null) return NUMBER_CHARACTERS
  let characters = CHARACTERS_BETWEEN
  if (Array.isArray(value)) {
    for (const member of value) characters += charactersOf(member)
    return characters
  }
  for (const name of Object.keys(value)) {
    characters += name.length + CHARACTERS_BETWEEN + charactersOf((value as Record<string, unknown>)[name])
  }
  return characters
}

/** Terms and authorizations never change, so each is measured once. */
const makeScale = () => {
  const measured = new WeakMap<object, number>()
  const weigh = (part: object): number => {
    const known = measured.get(part)
    if (known !== undefined) return known
    const weight = charactersOf(part)
    measured.set(part, weight)
    return weight
  }
  return ({ authorizations, mandate, open }: StreamState): number => {
    let weight = weigh(mandate.terms) + open.length * RESERVATION_CHARACTERS
    for (const authorization of authorizations.values()) weight += weigh(authorization)
    return weight
  }
}

const isPast = (lifetimeSeconds: bigint, since: bigint, at: bigint): boolean =>
  at - since >= lifetimeSeconds * NANOS_PER_SECOND

export const makeKnownStreams = (): KnownStreams => {
  // One more, since what makes room is forgotten afterwards, with what it holds.
  const streams = makeLeastRecentlySet<KnownStream & { readonly at: bigint; readonly weight: number }>(
    MAX_KNOWN_STREAMS + 1
  )
  const doubts = makeLeastRecentlySet<bigint>(MAX_KNOWN_STREAMS)
  const weightOf = makeScale()
  let held = 0
  let reading: ClockReading | undefined

  const forget = (key: string): void => {
    held -= streams.get(key)?.weight ?? 0
    streams.delete(key)
  }

  /** Forgets what is too old, and makes room. */
  const tidy = (at: bigint): void => {
    for (const [key, known] of streams.entries()) {
      const isFull = streams.size > MAX_KNOWN_STREAMS || held > MAX_KNOWN_CHARACTERS
      if (!isFull && !isPast(KNOWN_LIFETIME_SECONDS, known.at, at)) return
      forget(key)
    }
  }

  /** What this process decides on; what is absent, old or in doubt is loaded. */
  const streamOf = (key: string, store: MandateStore["Service"], at: bigint): LoadedStream | undefined => {
    const known = streams.get(key)
    if (known?.store !== store || isPast(KNOWN_LIFETIME_SECONDS, known.at, at)) return undefined
    const doubted = doubts.get(key)
    return doubted === undefined || isPast(DOUBT_SECONDS, doubted, at) ? known.stream : undefined
  }

  return {
    find: (key, store, at) => {
      const stream = streamOf(key, store, at)
      if (stream === undefined || reading?.store !== store) return undefined
      if (isPast(READING_LIFETIME_SECONDS, reading.at, at)) return undefined
      const now = reading.now + (at - reading.at)
      return now < stream.head.occurredAt ? undefined : { stream, now, lastRead: reading.now }
    },
    know: (key, { store, stream }, at) => {
      const state = newestOpen(stream.state)
      const weight = weightOf(state)
      held += weight - (streams.get(key)?.weight ?? 0)
      streams.set(key, { store, stream: { ...stream, state }, at, weight })
      tidy(at)
    },
    noteClock: (next) => {
      reading = next
    },
    doubt: (key, at) => {
      forget(key)
      doubts.set(key, at)
    }
  }
}
