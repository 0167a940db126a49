import express from "express"
import type { Service } from "svc"
import { svcExpress } from "svc/express"

export const serveOnExpress = (service: Service, port: number) => {
  const app = express()
  app.use(svcExpress(service))
  app.use(express.json())
  app.get("/", (_request, response) => void response.send("the shop's own page"))
  return app.listen(port, "localhost")
}
