import express from "express"
import type { Service } from "svc"
import { svcExpress } from "svc/express"

export const makeApp = (service: Service) => {
  const app = express()
  app.use(svcExpress(service))
  app.use(express.json())
  return app
}
