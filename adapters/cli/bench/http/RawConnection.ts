import { connect, type Socket } from "node:net"

/** An answer of an HTTP server. */
export interface RawAnswer {
  readonly status: number
  readonly body: string
}

/** A connection that is kept open, for one request at a time. */
export interface RawConnection {
  /** Sends a whole request; fails when the connection ends before the answer is there. */
  readonly send: (request: string) => Promise<RawAnswer>
  readonly close: () => void
}

const HEAD_END = "\r\n\r\n"

/** The whole answer that the bytes hold, if they do. Bodies without a stated length are not understood. */
const parse = (bytes: Buffer): RawAnswer | undefined => {
  const end = bytes.indexOf(HEAD_END)
  if (end < 0) return undefined
  const head = bytes.toString("latin1", 0, end)
  const length = /\r\ncontent-length: *(\d+)/iu.exec(head)?.[1]
  if (length === undefined) throw new Error(`an answer without a length: ${head}`)
  const from = end + HEAD_END.length
  const to = from + Number(length)
  if (bytes.length < to) return undefined
  return { status: Number(head.slice(9, 12)), body: bytes.toString("utf8", from, to) }
}

/** A request with a JSON body. */
export const jsonRequest = (
  line: string,
  headers: Readonly<Record<string, string>>,
  body?: string
): string => {
  const named = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const content =
    body === undefined
      ? ""
      : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
  return `${line} HTTP/1.1\r\n${named.join("")}${content}\r\n${body ?? ""}`
}

/**
 * Opens a connection to a server on loopback. It does the least that a client can, since the load is made on the machine
 * that is measured.
 */
export const openConnection = (port: number): Promise<RawConnection> =>
  new Promise((resolve, reject) => {
    let waiting: { resolve: (answer: RawAnswer) => void; reject: (error: Error) => void } | undefined
    let bytes: Buffer = Buffer.alloc(0)
    const fail = (error: Error) => {
      waiting?.reject(error)
      waiting = undefined
    }
    const socket: Socket = connect({ port, host: "127.0.0.1", noDelay: true }, () =>
      resolve({
        send: (request) =>
          new Promise((answered, failed) => {
            waiting = { resolve: answered, reject: failed }
            if (!socket.writable) fail(new Error("the connection was closed"))
            else socket.write(request)
          }),
        close: () => socket.destroy()
      })
    )
    socket.on("data", (chunk) => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
      try {
        const answer = parse(bytes)
        if (answer === undefined) return
        bytes = Buffer.alloc(0)
        waiting?.resolve(answer)
        waiting = undefined
      } catch (error) {
        fail(error as Error)
      }
    })
    socket.on("error", (error) => (waiting === undefined ? reject(error) : fail(error)))
    socket.on("close", () => fail(new Error("the connection was closed")))
  })
