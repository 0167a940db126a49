import { Duplex } from "node:stream"

/** The part of PGlite that the stream uses: one session that speaks the wire protocol. */
export interface ProtocolSession {
  readonly execProtocolRaw: (message: Uint8Array) => Promise<Uint8Array>
}

const CANCEL_REQUEST = 80_877_102
const LENGTH_BYTES = 4
const TYPE_BYTES = 1

const SYNC = Uint8Array.of(0x53, 0, 0, 0, LENGTH_BYTES)

const simpleQuery = (statement: string): Uint8Array => {
  const text = Buffer.from(`${statement}\0`)
  const message = Buffer.alloc(TYPE_BYTES + LENGTH_BYTES)
  message.write("Q")
  message.writeUInt32BE(LENGTH_BYTES + text.length, TYPE_BYTES)
  return Buffer.concat([message, text])
}

/** Clears what the previous stream left behind: an unfinished message, a transaction, statements, settings. */
const RESET: ReadonlyArray<Uint8Array> = [SYNC, simpleQuery("ROLLBACK"), simpleQuery("DISCARD ALL")]

/** The number of bytes of the complete messages at the beginning of `bytes`. */
const wholeMessages = (bytes: Buffer): number => {
  let end = 0
  while (bytes.length - end >= TYPE_BYTES + LENGTH_BYTES) {
    const next = end + TYPE_BYTES + bytes.readUInt32BE(end + TYPE_BYTES)
    if (next > bytes.length) break
    end = next
  }
  return end
}

/** The number of bytes of the first message, which has no type. */
const wholeStartup = (bytes: Buffer): number => {
  const length = bytes.length >= 2 * LENGTH_BYTES ? bytes.readUInt32BE(0) : Number.POSITIVE_INFINITY
  return length <= bytes.length ? length : 0
}

/** Settings of a session by name, which a server would take from the startup message. */
export type SessionSettings = Readonly<Record<string, string>>

const settingOf = ([name, value]: readonly [string, string]): Uint8Array =>
  simpleQuery(`SET ${name} = ${value}`)

/**
 * Makes streams to one PGlite, as a client would open sockets to a server. They share one session, so a stream begins by
 * clearing what the previous one left open, sends complete messages in turn with others, and is silent once it is closed.
 * Requests to cancel are dropped, because they would hit an arbitrary statement of the session.
 */
export const streamsTo = (session: ProtocolSession, settings: SessionSettings = {}): (() => Duplex) => {
  const beginning = [...RESET, ...Object.entries(settings).map(settingOf)]
  let tail: Promise<unknown> = Promise.resolve()
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const turn = tail.then(work)
    tail = turn.catch(() => undefined)
    return turn
  }
  return () => {
    let hasStarted = false
    let pending: Buffer = Buffer.alloc(0)
    const take = (): Buffer => {
      const end = hasStarted ? wholeMessages(pending) : wholeStartup(pending)
      const whole = pending.subarray(0, end)
      pending = pending.subarray(end)
      return whole
    }
    const exchange = async (duplex: Duplex): Promise<void> => {
      for (let messages = take(); messages.length > 0 && !duplex.destroyed; messages = take()) {
        if (!hasStarted) {
          if (messages.readUInt32BE(LENGTH_BYTES) === CANCEL_REQUEST) {
            duplex.push(null)
            return
          }
          for (const message of beginning) await session.execProtocolRaw(message)
          hasStarted = true
        }
        const answer = await session.execProtocolRaw(Uint8Array.from(messages))
        if (answer.length > 0 && !duplex.destroyed) duplex.push(Buffer.from(answer))
      }
    }
    return new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        pending = pending.length === 0 ? Buffer.from(chunk) : Buffer.concat([pending, chunk])
        inTurn(() => exchange(this)).then(() => done(), done)
      },
      final(done) {
        this.push(null)
        done()
      }
    })
  }
}
