import { Hono } from "hono"
import type { Service } from "svc"
import { svcHono } from "svc/hono"

export const makeHonoApp = (service: Service) => {
  const app = new Hono()
  app.use(svcHono(service))
  app.get("/", (context) => context.text("the shop's own page"))
  return app
}
