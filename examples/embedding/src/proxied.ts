import { createServer } from "node:http"
import type { Service } from "svc"
import { toNodeHandler } from "svc/node"

/** The bounds that the reference server keeps, in milliseconds but for the size of headers in bytes. */
const LIMITS = {
  requestTimeout: 30_000,
  headersTimeout: 30_000,
  keepAliveTimeout: 75_000,
  maxHeaderSize: 16_384
}

export const serveBehindProxy = (service: Service, port: number) => {
  const server = createServer(LIMITS, toNodeHandler(service))
  server.setTimeout(40_000)
  server.maxRequestsPerSocket = 10_000
  return server.listen(port, "127.0.0.1")
}
