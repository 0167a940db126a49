import { createServer } from "node:http"
import type { Service } from "svc"
import { toNodeHandler } from "svc/node"

export const serveOnNode = (service: Service, port: number) => {
  const handle = toNodeHandler(service)
  return createServer({ requestTimeout: 30_000 }, (request, response) =>
    handle(request, response, () => response.end("the shop's own page"))
  ).listen(port, "localhost")
}
