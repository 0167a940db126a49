import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { createService } from "svc"
import { memory } from "svc/memory"
import { behindOneProxy } from "./address.ts"
import { serveBehindProxy } from "./proxied.ts"

const proxied = () =>
  createService({
    environment: "test",
    baseUrl: "https://api.shop.example/mandates",
    approvalUrl: "https://approve.shop.example",
    store: memory(),
    logger: () => undefined,
    ...behindOneProxy
  })

describe("a service behind a proxy that ends TLS", () => {
  it("tells its two faces by their paths, and links what its public addresses say", async () => {
    const service = proxied()
    const server = serveBehindProxy(service, 0)
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const problem = await fetch(`http://127.0.0.1:${port}/mandates/nowhere`)
    assert.strictEqual((await problem.json()).type, "https://api.shop.example/mandates/problems/not-found")
    const page = await fetch(`http://127.0.0.1:${port}/`, { headers: { accept: "text/html" } })
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/u)
    server.close()
    server.closeAllConnections()
    await service.close()
  })

  it("counts failed credentials by the address that the proxy wrote, not by what the client claims", async () => {
    const service = proxied()
    const server = serveBehindProxy(service, 0)
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const headersOf = (claimed: string, peer: string) => ({ "x-forwarded-for": `${claimed}, ${peer}` })
    const overSocket = (claimed: string, peer: string) =>
      fetch(`http://127.0.0.1:${port}/mandates/v1/mandates`, { headers: headersOf(claimed, peer) })
    const byFetch = (claimed: string, peer: string) =>
      service.fetch(
        new Request("https://api.shop.example/mandates/v1/mandates", { headers: headersOf(claimed, peer) })
      )
    for (const [ask, peer] of [
      [overSocket, "203.0.113.1"],
      [byFetch, "203.0.113.2"]
    ] as const) {
      // Far more a second than the limit lets through, from as many addresses as the client likes to claim.
      const claims = Array.from({ length: 100 }, (_, at) => `198.51.100.${at}`)
      const statuses = new Set<number>()
      while (!statuses.has(429))
        for (const { status } of await Promise.all(claims.map((claimed) => ask(claimed, peer))))
          statuses.add(status)
      assert.sameMembers([...statuses], [401, 429])
      assert.strictEqual((await ask("198.51.100.1", "203.0.113.3")).status, 401)
    }
    server.close()
    server.closeAllConnections()
    await service.close()
  })
})
