import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { createServer as createTlsServer, type TLSSocket } from "node:tls"
import { Effect, type Scope } from "effect"
import type { Certified } from "./CertificateAuthority.ts"

/** What a receiver has seen. */
export interface Seen {
  /** TCP connections, whether or not anything came of them. */
  connections: number
  /** Connections that are open now. */
  open: number
  /** Bytes received in clear, or after decryption. */
  bytes: number
  /** Names asked for by SNI; `false` where none was. */
  readonly serverNames: Array<string | false>
  /** Whole requests: head and body. */
  readonly requests: Array<{ readonly head: string; readonly body: Buffer }>
}

export interface Receiver {
  readonly port: number
  readonly seen: Seen
}

/** Does with a connection as it likes, once a whole request has come. */
export type Behaviour = (socket: Socket) => void

const END_OF_HEAD = "\r\n\r\n"

const readRequests = (socket: Socket, seen: Seen, behave: Behaviour): void => {
  let received = Buffer.alloc(0)
  socket.on("data", (chunk) => {
    seen.bytes += chunk.length
    received = Buffer.concat([received, chunk])
    const end = received.indexOf(END_OF_HEAD)
    if (end < 0) return
    const head = received.subarray(0, end).toString("latin1")
    const body = received.subarray(end + END_OF_HEAD.length)
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
    if (body.length < length) return
    received = body.subarray(length)
    seen.requests.push({ head, body: body.subarray(0, length) })
    behave(socket)
  })
}

const listening = (
  make: (seen: Seen) => Server,
  host: string,
  port: number
): Effect.Effect<Receiver, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ server: Server; sockets: Set<Socket>; receiver: Receiver }>((resume) => {
      const seen: Seen = { connections: 0, open: 0, bytes: 0, serverNames: [], requests: [] }
      const server = make(seen)
      const sockets = new Set<Socket>()
      server.on("connection", (socket: Socket) => {
        seen.connections += 1
        seen.open += 1
        sockets.add(socket)
        socket.on("error", () => undefined)
        socket.on("close", () => {
          seen.open -= 1
          sockets.delete(socket)
        })
      })
      server.listen(port, host, () => {
        const receiver = { port: (server.address() as AddressInfo).port, seen }
        resume(Effect.succeed({ server, sockets, receiver }))
      })
    }),
    ({ server, sockets }) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
  ).pipe(Effect.map(({ receiver }) => receiver))

interface Place {
  readonly host?: string
  readonly port?: number
}

/** A receiver behind TLS on loopback. */
export const tlsReceiver = (certified: Certified, behave: Behaviour, place: Place = {}) =>
  listening(
    (seen) =>
      createTlsServer({ ...certified, ALPNProtocols: ["h2", "http/1.1"] }, (socket: TLSSocket) => {
        socket.on("error", () => undefined)
        seen.serverNames.push(socket.servername as string | false)
        readRequests(socket, seen, behave)
      }).on("tlsClientError", () => undefined),
    place.host ?? "127.0.0.1",
    place.port ?? 0
  )

/** A receiver in clear on loopback. */
export const plainReceiver = (behave: Behaviour, place: Place = {}) =>
  listening(
    (seen) => createServer((socket) => readRequests(socket, seen, behave)),
    place.host ?? "127.0.0.1",
    place.port ?? 0
  )

/** Accepts connections and says nothing. */
export const silentReceiver = (place: Place = {}) =>
  listening(
    (seen) =>
      createServer((socket) => {
        socket.on("data", (chunk) => {
          seen.bytes += chunk.length
        })
      }),
    place.host ?? "127.0.0.1",
    place.port ?? 0
  )

/** Answers this text and leaves the connection open. */
export const answering =
  (...lines: ReadonlyArray<string>): Behaviour =>
  (socket) => {
    socket.write(lines.join("\r\n"))
  }

/** Writes the piece again and again as fast as it is read, until the connection ends. */
export const endlessly = (socket: Socket, piece: string | Buffer): void => {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
    if (!socket.destroyed) socket.once("drain", more)
  }
  more()
}

/** Writes the piece every few milliseconds until the connection ends. */
export const dripping = (socket: Socket, piece: string, milliseconds = 20): void => {
  const timer = setInterval(() => socket.write(piece), milliseconds)
  socket.on("close", () => clearInterval(timer))
}
