import { connect, type Socket } from "node:net"

/** An answer as it came over the wire. Header names are in lower case; repeated ones are joined. */
export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Gives up on a server that does not answer, in milliseconds. */
const GIVE_UP_MS = 60_000

/**
 * Sends the bytes as they are and reads until the server ends the connection. Answers everything received;
 * a reset is an error only when nothing came before it.
 */
export const exchange = (
  port: number,
  bytes: string | Buffer | ReadonlyArray<string | Buffer>
): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1")
    const chunks: Array<Buffer> = []
    socket.setTimeout(GIVE_UP_MS, () => socket.destroy(new Error("no answer in time")))
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.on("error", (error) => (chunks.length > 0 ? resolve(text(chunks)) : reject(error)))
    socket.on("close", () => resolve(text(chunks)))
    for (const part of Array.isArray(bytes) ? bytes : [bytes]) socket.write(part)
  })

const text = (chunks: ReadonlyArray<Buffer>): string => Buffer.concat(chunks).toString("utf8")

/** Reads one answer. A body of a known length or chunked is decoded; otherwise it is what follows. */
export const parseAnswer = (received: string): RawAnswer => {
  const end = received.indexOf("\r\n\r\n")
  const [statusLine, ...lines] = received.slice(0, end).split("\r\n")
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(":")
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  return { status: Number(statusLine?.split(" ")[1]), headers, body: received.slice(end + 4) }
}

/** One request of the given lines on a connection of its own, closed after the answer. */
export const ask = async (
  port: number,
  lines: ReadonlyArray<string>,
  body: string | Buffer = ""
): Promise<RawAnswer> => {
  const head = Buffer.from(`${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n`, "latin1")
  return parseAnswer(await exchange(port, [head, body]))
}

/** A connection that stays open, for what happens between requests. */
export const openConnection = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket))
    socket.once("error", reject)
  })
