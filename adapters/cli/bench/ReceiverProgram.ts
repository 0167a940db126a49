/** A receiver in a process of its own: answers 204 to everything, and says when it has got as many events as it is told. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

let events = new Set<unknown>()
let wanted = Number.POSITIVE_INFINITY

const server = createServer((request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    response.writeHead(204).end()
    events.add((JSON.parse(Buffer.concat(chunks).toString()) as { readonly id: unknown }).id)
    if (events.size === wanted) process.send?.("complete")
  })
})

process.on("message", (count: number) => {
  events = new Set()
  wanted = count
})
process.once("disconnect", () => process.exit())
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port))
