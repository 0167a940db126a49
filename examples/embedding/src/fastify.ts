import fastify from "fastify"
import type { Service } from "svc"
import { svcFastify } from "svc/fastify"

export const serveOnFastify = async (service: Service, port: number) => {
  const app = fastify({ requestTimeout: 30_000 })
  app.register(svcFastify(service))
  app.get("/", async () => "the shop's own page")
  await app.listen({ port, host: "localhost" })
  return app
}
