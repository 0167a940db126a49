import { createServer as createHttpServer, type IncomingHttpHeaders, type RequestListener } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import type { AddressInfo } from "node:net"
import type { SelfSignedCertificate } from "./SelfSignedCertificate.ts"

/** What came to the shop, with every header. */
export interface ShopRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/** The site that a person comes from and goes back to. It has no rules of its own, so it serves an attacker too. */
export interface ShopUnderTest {
  readonly port: number
  readonly requests: Array<ShopRequest>
  readonly close: () => Promise<void>
}

const PAGE = `<!doctype html><html lang="en"><head><title>Shop</title><link rel="icon" href="data:,"></head><body><main><h1>Shop</h1></main></body></html>`

/** Listens on this machine, under whatever name it is asked for; with a certificate, over HTTPS. */
export const openShop = async (certificate?: SelfSignedCertificate): Promise<ShopUnderTest> => {
  const requests: Array<ShopRequest> = []
  const answer: RequestListener = (request, response) => {
    requests.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers })
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(PAGE)
  }
  const server =
    certificate === undefined ? createHttpServer(answer) : createHttpsServer({ ...certificate }, answer)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { port: (server.address() as AddressInfo).port, requests, close }
}
