import { connect, createServer, type Socket } from "node:net"

/** A statement as a client sent it: once for each time that it was run, prepared or not. */
export interface SentStatement {
  readonly text: string
  /** Whether it had a name, under which the connection keeps it. */
  readonly isNamed: boolean
}

/** Stands between a client and a Postgres server, passes every byte on, and keeps what was sent and noted. */
export interface WireRecorder {
  /** The server's URL, through the recorder. */
  readonly url: string
  /** Statements since the last `clear`, in the order in which they were sent. */
  readonly sent: () => ReadonlyArray<SentStatement>
  /** Statements that a connection was given by name more than once, since the recorder was started. */
  readonly preparedAgain: () => ReadonlyArray<string>
  /** Texts of the notices that the server answered with since the last `clear`. */
  readonly notices: () => ReadonlyArray<string>
  readonly clear: () => void
  /** From now on the connections that are open pass nothing on, as over a cable that was cut. New ones do. */
  readonly cut: () => void
  readonly stop: () => Promise<void>
}

const LENGTH_BYTES = 4
const DEFAULT_PORT = 5432

type OnMessage = (type: string, body: Buffer) => void

/** Cuts a stream of bytes into messages. What a client says first has no type; `""` stands for it. */
const messageReader = (hasStartup: boolean, onMessage: OnMessage): ((chunk: Buffer) => void) => {
  let pending: Buffer = Buffer.alloc(0)
  let isStartup = hasStartup
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    for (;;) {
      const typeBytes = isStartup ? 0 : 1
      if (pending.length < typeBytes + LENGTH_BYTES) return
      const end = typeBytes + pending.readUInt32BE(typeBytes)
      if (pending.length < end) return
      const type = isStartup ? "" : String.fromCharCode(pending[0]!)
      isStartup = false
      onMessage(type, pending.subarray(typeBytes + LENGTH_BYTES, end))
      pending = pending.subarray(end)
    }
  }
}

/** The zero-terminated text at an offset, and where the next one begins. */
const textAt = (body: Buffer, start: number): readonly [string, number] => {
  const end = body.indexOf(0, start)
  return [body.toString("utf8", start, end), end + 1]
}

/** Reads what one client sends: `Parse` gives a statement its name, `Bind` runs it, `Query` is both. */
const clientReader = (
  onStatement: (statement: SentStatement) => void,
  onPreparedAgain: (text: string) => void
): ((chunk: Buffer) => void) => {
  const prepared = new Map<string, string>()
  return messageReader(true, (type, body) => {
    if (type === "P") {
      const [name, next] = textAt(body, 0)
      const [text] = textAt(body, next)
      if (name !== "" && [...prepared].some(([other, known]) => other !== "" && known === text)) {
        onPreparedAgain(text)
      }
      prepared.set(name, text)
    } else if (type === "B") {
      const [, next] = textAt(body, 0)
      const [name] = textAt(body, next)
      const text = prepared.get(name)
      if (text === undefined) throw new Error(`a statement is run that was not prepared: ${name}`)
      onStatement({ text, isNamed: name !== "" })
    } else if (type === "Q") {
      onStatement({ text: textAt(body, 0)[0], isNamed: false })
    }
  })
}

/** The field `M` of a notice: its text. */
const noticeText = (body: Buffer): string => {
  for (let at = 0; body[at] !== undefined && body[at] !== 0; ) {
    const field = String.fromCharCode(body[at]!)
    const [text, next] = textAt(body, at + 1)
    if (field === "M") return text
    at = next
  }
  return ""
}

const throughPort = (url: string, port: number, options: string): string => {
  const through = new URL(url)
  through.hostname = "127.0.0.1"
  through.port = String(port)
  const parameter = options === "" ? "" : `options=${encodeURIComponent(options)}`
  const separator = parameter === "" ? "" : through.search === "" ? "?" : "&"
  return `${through.href}${separator}${parameter}`
}

interface RecorderOptions {
  /** Goes to every session. */
  readonly options?: string
  /** Such a statement, which has its connection to itself while it runs, is not recorded, nor what is noted of it. */
  readonly ignored?: (text: string) => boolean
}

/** Starts a recorder before the server at `url`, which is spoken to without TLS. */
export const startRecorder = async (
  url: string,
  { options = "", ignored = () => false }: RecorderOptions = {}
): Promise<WireRecorder> => {
  const { hostname, port } = new URL(url)
  let sent: Array<SentStatement> = []
  let notices: Array<string> = []
  const preparedAgain: Array<string> = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(port === "" ? DEFAULT_PORT : Number(port), hostname)
    let isIgnored = false
    const readClient = clientReader(
      (statement) => {
        isIgnored = ignored(statement.text)
        if (!isIgnored) sent.push(statement)
      },
      (text) => preparedAgain.push(text)
    )
    const readServer = messageReader(false, (type, body) => {
      if (type === "N" && !isIgnored) notices.push(noticeText(body))
    })
    client.on("data", readClient)
    upstream.on("data", readServer)
    client.pipe(upstream).pipe(client)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client]
    ] as const) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on("error", () => other.destroy())
      socket.on("close", () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the recorder has no port")
  return {
    url: throughPort(url, address.port, options),
    sent: () => sent,
    preparedAgain: () => preparedAgain,
    notices: () => notices,
    clear: () => {
      sent = []
      notices = []
    },
    cut: () => {
      for (const socket of sockets) {
        socket.unpipe()
        socket.removeAllListeners("data")
        socket.pause()
      }
    },
    stop: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      })
  }
}
