import { once } from "node:events"
import type { Server } from "node:http"
import { assert, describe, it } from "vitest"
import { openConnection, parseAnswer } from "../../test/RawExchange.ts"
import { makeRawServer } from "./RawServer.ts"

/** Longer than a stopping server waits for what was sent before, in milliseconds. */
const STALL_MS = 500

/** Takes the processor away from the event loop, as a busy machine does. */
const stall = (): void => {
  const end = performance.now() + STALL_MS
  while (performance.now() < end);
}

/** Has the server listen, and opens a connection to it. */
const connectionTo = async (server: Server) => {
  await once(server.listen(0, "127.0.0.1"), "listening")
  const address = server.address()
  return openConnection(typeof address === "object" && address !== null ? address.port : 0)
}

describe("a graceful shutdown of a busy server", () => {
  it("answers requests that were sent before it", async () => {
    const server = makeRawServer({ baseUrl: "https://api.example", headers: {} })
    server.on("request", (_request, response) => response.end("answered"))
    const accepted = once(server, "connection")
    const socket = await connectionTo(server)
    await accepted
    let received = ""
    socket.on("data", (chunk) => {
      received += chunk
    })
    const closed = once(socket, "close")
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    server.close()
    stall()
    await closed
    assert.deepInclude(parseAnswer(received), { status: 200, body: "answered" })
  })
})

describe("a client that goes on sending while the server stops", () => {
  it("is told by an answer to leave, once nothing would accept another connection", async () => {
    const server = makeRawServer({ baseUrl: "https://api.example", headers: {} })
    const told: Array<readonly [isListening: boolean, connection: unknown]> = []
    server.on("request", (_request, response) => {
      response.once("finish", () => told.push([server.listening, response.getHeader("connection")]))
      response.end("answered")
    })
    const socket = await connectionTo(server)
    let received = ""
    socket.on("data", (chunk) => {
      received += chunk
      if (!/^connection: close\r$/imu.test(String(chunk))) socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    })
    const closed = once(socket, "close")
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    server.close()
    await closed
    assert.isAbove(told.length, 1)
    for (const [isListening, connection] of told) assert.strictEqual(connection === "close", !isListening)
    assert.lengthOf(received.match(/HTTP\/1\.1 200 /gu) ?? [], told.length)
  })
})

describe("a request after an answer that closes the connection", () => {
  it("is not served, even in the same packet", async () => {
    const server = makeRawServer({ baseUrl: "https://api.example", headers: {} })
    const served: Array<string | undefined> = []
    server.on("request", ({ url }, response) => {
      served.push(url)
      // Answered before the end of its body, as one that is too large.
      response.writeHead(413, { connection: "close" }).end("no")
    })
    const socket = await connectionTo(server)
    let received = ""
    socket.on("data", (chunk) => {
      received += chunk
    })
    const closed = once(socket, "close")
    const body = "x".repeat(70_000)
    const next = "POST /next HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    socket.write(`POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}${next}`)
    await closed
    server.close()
    assert.deepStrictEqual(served, ["/first"])
    assert.strictEqual(parseAnswer(received).status, 413)
  })
})
