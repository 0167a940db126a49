/** The handler of the front package in a server of node:http, which answers one request. */
import { createServer } from "node:http"
import { createService } from "svc"
import { memory } from "svc/memory"
import { toNodeHandler } from "svc/node"

const service = createService({
  environment: "test",
  baseUrl: "http://localhost:8080/mandates",
  approvalUrl: "http://localhost:8080/approvals",
  store: memory(),
  worker: false
})
const server = createServer({ requestTimeout: 30_000 }, toNodeHandler(service))
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
const address = server.address()
const port = typeof address === "object" ? address?.port : undefined
const { status } = await fetch(`http://127.0.0.1:${port}/mandates/healthz`, {
  headers: { connection: "close" }
})
await new Promise((resolve) => server.close(resolve))
await service.close()
console.log(JSON.stringify({ status }))
