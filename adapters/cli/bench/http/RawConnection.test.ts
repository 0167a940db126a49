import { createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { jsonRequest, openConnection } from "./RawConnection.ts"

/** A server that answers each request by the next function, until the test is over. */
const answering = async (
  answers: ReadonlyArray<(socket: Socket) => void>,
  use: (port: number) => Promise<void>
): Promise<void> => {
  let next = 0
  const server = createServer((socket) => socket.on("data", () => answers[next++]?.(socket)))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  try {
    await use(typeof address === "object" && address !== null ? address.port : 0)
  } finally {
    server.close()
  }
}

const HEAD = "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\n"

describe("RawConnection", () => {
  it("reads one answer after the other, also in pieces, by the length in bytes", () =>
    answering(
      [
        (socket) => socket.write(`${HEAD}"é"`),
        (socket) => {
          for (const [index, byte] of [...Buffer.from(`${HEAD}"ü"`)].entries())
            setTimeout(() => socket.write(Uint8Array.of(byte)), index)
        }
      ],
      async (port) => {
        const connection = await openConnection(port)
        const request = jsonRequest("GET /", {})
        assert.deepStrictEqual(await connection.send(request), { status: 201, body: '"é"' })
        assert.deepStrictEqual(await connection.send(request), { status: 201, body: '"ü"' })
        connection.close()
      }
    ))

  it("fails when the connection ends before the answer, and when an answer has no length", () =>
    answering(
      [
        (socket) => socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (socket) => socket.end(HEAD)
      ],
      async (port) => {
        for (const reason of [/without a length/u, /closed/u]) {
          const connection = await openConnection(port)
          const failure = await connection.send(jsonRequest("GET /", {})).then(() => undefined, String)
          assert.match(failure ?? "", reason)
          connection.close()
        }
      }
    ))

  it("states the length of a body in bytes", () => {
    assert.strictEqual(
      jsonRequest("PUT /x", { host: "a" }, '"é"'),
      'PUT /x HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n"é"'
    )
  })
})
