import { NestFactory } from "@nestjs/core"
import type { Service } from "svc"
import { svcExpress } from "svc/express"
import { ShopModule } from "./shop.module.ts"
import { SERVICE } from "./svc.module.ts"

export const makeApp = async () => {
  const app = await NestFactory.create(ShopModule, { logger: ["warn", "error"] })
  return app.use(svcExpress(app.get<Service>(SERVICE))).enableShutdownHooks()
}
