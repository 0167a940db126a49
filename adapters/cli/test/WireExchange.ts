import { connect } from "node:net"
import type { RawAnswer } from "@svc/http-server/test/RawExchange"

/** Gives up on a server that does not end the connection, in milliseconds. */
const GIVE_UP_MS = 60_000

/** Bytes to be sent on a connection of their own. */
export interface WireRequest {
  readonly bytes: ReadonlyArray<Buffer>
  /** Whether the sender ends its half when it has sent everything, as one does whose body is cut short. */
  readonly halfClose: boolean
}

/** Sends the bytes and gives what came back until the server ended the connection, and whether it reset it. */
export const talk = (
  port: number,
  request: WireRequest
): Promise<{ readonly received: Buffer; readonly reset: boolean }> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1")
    const chunks: Array<Buffer> = []
    const finish = (reset: boolean) => resolve({ received: Buffer.concat(chunks), reset })
    socket.setTimeout(GIVE_UP_MS, () => {
      socket.destroy()
      reject(new Error(`no end in time, after ${JSON.stringify(Buffer.concat(chunks).toString("latin1"))}`))
    })
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.on("error", () => finish(true))
    socket.on("close", () => finish(false))
    for (const part of request.bytes) socket.write(part)
    if (request.halfClose) socket.end()
  })

const HEAD_END = "\r\n\r\n"

const readHead = (text: string): Omit<RawAnswer, "body"> => {
  const [statusLine, ...lines] = text.split("\r\n")
  const status = /^HTTP\/1\.1 (\d{3})(?: [\x20-\x7e]*)?$/u.exec(statusLine ?? "")?.[1]
  if (status === undefined) throw new Error(`not a status line: ${JSON.stringify(statusLine)}`)
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name, value] = /^([!-9;-~]+): ?(.*)$/u.exec(line) ?? []
    if (name === undefined) throw new Error(`not a header: ${JSON.stringify(line)}`)
    const known = headers[name.toLowerCase()]
    headers[name.toLowerCase()] = known === undefined ? (value ?? "") : `${known}, ${value}`
  }
  return { status: Number(status), headers }
}

const readChunks = (text: string): { readonly body: string; readonly length: number } => {
  let [at, body] = [0, ""]
  for (;;) {
    const lineEnd = text.indexOf("\r\n", at)
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    if (lineEnd < 0 || Number.isNaN(size)) throw new Error("a chunk without its size")
    body += text.slice(lineEnd + 2, lineEnd + 2 + size)
    at = lineEnd + 2 + size + 2
    if (size === 0) return { body, length: at }
  }
}

/** A request that did not parse is not known to be a HEAD: its refusal has a body, and the connection ends with it. */
const hasNoBody = (head: Omit<RawAnswer, "body">, method: string | undefined, rest: string): boolean => {
  if (head.status === 204 || head.status === 304) return true
  const endsUnread = head.headers.connection === "close" && rest.startsWith("{")
  return method === "HEAD" && !endsUnread
}

/**
 * The answers on a connection, in order, interim ones left out. `methods` are those of the requests, since an answer to
 * HEAD has no body whatever it says. Throws when the bytes are not a sequence of whole answers.
 */
export const readAnswers = (received: Buffer, methods: ReadonlyArray<string>): ReadonlyArray<RawAnswer> => {
  let rest = received.toString("latin1")
  const answers: Array<RawAnswer> = []
  while (rest !== "") {
    const end = rest.indexOf(HEAD_END)
    if (end < 0) throw new Error(`half an answer: ${JSON.stringify(rest)}`)
    const head = readHead(rest.slice(0, end))
    rest = rest.slice(end + HEAD_END.length)
    if (head.status < 200) continue
    const isBodiless = hasNoBody(head, methods[answers.length], rest)
    const length = head.headers["content-length"]
    const framed = isBodiless
      ? { body: "", length: 0 }
      : head.headers["transfer-encoding"] === "chunked"
        ? readChunks(rest)
        : { body: rest.slice(0, Number(length)), length: Number(length) }
    if (!isBodiless && Number.isNaN(framed.length)) throw new Error("an answer without a length")
    if (rest.length < framed.length) throw new Error("an answer that breaks off")
    answers.push({ ...head, body: Buffer.from(framed.body, "latin1").toString("utf8") })
    rest = rest.slice(framed.length)
  }
  return answers
}
